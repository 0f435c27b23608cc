// Package config holds the manifests that Berth is installed with, generated from the Go code, as files in the binary.
//
// It owns the files and refuses to know who applies them. What is here is what `make generate` wrote.
package config

import (
	"embed"
	"io/fs"
)

//go:embed crd/*.yaml
var files embed.FS

// CRDs returns the definitions of Berth's API types: YAML files, one definition each, at the root of the file system.
// The files are read-only.
func CRDs() fs.FS {
	return directory("crd")
}

func directory(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic("config: " + name + " is not embedded: " + err.Error())
	}
	return sub
}
