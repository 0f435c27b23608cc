// Package backup reads and writes the file with a backup of a hub.
//
// It owns the format: a tar archive of the files with a manifest in front and a hash at the end, encrypted by age if a key is given.
// It makes no snapshot and touches no data folder. The invariant: Read returns no error only if every byte is as Write wrote it.
package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

const (
	// Format is the version of the format. A reader refuses a later one.
	Format = 1

	manifestName = "manifest.json"
	// maxManifestBytes and maxFiles bound what a reader keeps in memory.
	maxManifestBytes = 1 << 20
	maxFiles         = 1000
)

var (
	errNoBackup = errors.New("it is no backup of a hub")
	errDamaged  = errors.New("it is damaged or truncated; use another backup")
)

// Manifest describes a backup.
type Manifest struct {
	// Format is the version of the format of the file.
	Format int `json:"format"`
	// Berth, Kubernetes and Etcd are the versions that wrote the file.
	Berth      string `json:"berth"`
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	// Created is when the snapshot was made.
	Created time.Time `json:"created"`
	// Revision is the last revision of etcd in the snapshot.
	Revision int64 `json:"revision"`
	// Files are the files behind the manifest, in their order.
	Files []File `json:"files"`
}

// File describes a file of a backup.
type File struct {
	// Name is the path in the data folder, with slashes.
	Name string `json:"name"`
	Size int64  `json:"size"`
	// SHA256 is the hash of the content, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// decodeManifest reads a manifest. It reads the version before the rest, which a later version may have changed.
func decodeManifest(in io.Reader) (Manifest, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxManifestBytes+1))
	if err != nil {
		return Manifest{}, fmt.Errorf("reading the manifest: %w: %w", errDamaged, err)
	}
	version := struct {
		Format int `json:"format"`
	}{}
	if err := json.Unmarshal(data, &version); err != nil || len(data) > maxManifestBytes {
		return Manifest{}, fmt.Errorf("reading the manifest: %w", errDamaged)
	}
	if version.Format != Format {
		return Manifest{}, fmt.Errorf("it has format %d, and this release reads format %d: use the release of Berth "+
			"that wrote it, or a later one", version.Format, Format)
	}
	var out Manifest
	if err := json.Unmarshal(data, &out); err != nil {
		return Manifest{}, fmt.Errorf("reading the manifest: %w: %w", errDamaged, err)
	}
	return out, out.validate()
}

// validate returns an error for names that lead out of the folder, that appear twice, or that are too many.
func (m Manifest) validate() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("it lists %d files, more than %d: %w", len(m.Files), maxFiles, errDamaged)
	}
	names := map[string]bool{manifestName: true}
	for _, file := range m.Files {
		path := filepath.FromSlash(file.Name)
		if !filepath.IsLocal(path) || filepath.Clean(path) != path || names[file.Name] || file.Size < 0 {
			return fmt.Errorf("it lists the file %q of %d bytes: %w", file.Name, file.Size, errDamaged)
		}
		names[file.Name] = true
	}
	return nil
}
