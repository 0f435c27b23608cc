package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sumsFile has a line for each other file of its folder, in the form that sha256sum checks.
const sumsFile = "SHA256SUMS"

// writeSums writes the checksums of all files below a folder, in the order of their names.
func writeSums(folder string) error {
	var out strings.Builder
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == sumsFile {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err //nolint:wrapcheck // it names the file
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), path)
		return nil
	})
	if err != nil {
		return fmt.Errorf("computing checksums below %s: %w", folder, err)
	}
	if err := os.WriteFile(filepath.Join(folder, sumsFile), []byte(out.String()), readable); err != nil {
		return fmt.Errorf("writing the checksums: %w", err)
	}
	return nil
}
