package hubtest

import (
	"fmt"
	"io/fs"
	"testing/fstest"
)

// Merge returns the manifests of several folders in one folder. A file has the name of its folder as a prefix.
func Merge(folders map[string]fs.FS) (fs.FS, error) {
	out := fstest.MapFS{}
	for name, from := range folders {
		files, err := fs.Glob(from, "*.yaml")
		if err != nil {
			return nil, fmt.Errorf("listing the manifests of %s: %w", name, err)
		}
		for _, file := range files {
			data, err := fs.ReadFile(from, file)
			if err != nil {
				return nil, fmt.Errorf("reading the manifests of %s: %w", name, err)
			}
			out[name+"-"+file] = &fstest.MapFile{Data: data}
		}
	}
	return out, nil
}
