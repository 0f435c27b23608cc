// Package examples contains scenarios that a reader can apply to a hub, as files in the binary.
//
// It owns the files. Callers apply them. Each folder has manifests, applied in the order of their names. A folder in it is a
// later step. expected.txt contains the decisions after each step.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed demo
var files embed.FS

// Demo returns the manifests that `berth-hub demo` shows. The files are read-only.
func Demo() fs.FS {
	sub, err := fs.Sub(files, "demo")
	if err != nil {
		panic("examples: demo is not embedded: " + err.Error())
	}
	return sub
}
