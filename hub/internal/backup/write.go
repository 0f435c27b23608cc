package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Source is a file to back up.
type Source struct {
	// Name is the path in the data folder, with slashes.
	Name string
	// Path is the file to read, which must not change. Where it is empty, Data is the content.
	Path string
	Data []byte
}

// open returns the content.
func (s Source) open() (io.ReadCloser, error) {
	if s.Path == "" {
		return io.NopCloser(bytes.NewReader(s.Data)), nil
	}
	return os.Open(s.Path) //nolint:wrapcheck // it names the file
}

// describe reads a source once, for the manifest.
func (s Source) describe() (File, error) {
	hash := sha256.New()
	size, err := s.copyTo(hash)
	return File{Name: s.Name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

func (s Source) copyTo(out io.Writer) (int64, error) {
	in, err := s.open()
	if err != nil {
		return 0, err
	}
	defer in.Close() //nolint:errcheck // it is only read
	return io.Copy(out, in)
}

// Write writes a backup of the sources. It fills in the format and the files of the manifest.
func Write(out io.Writer, about Manifest, sources []Source) (Manifest, error) {
	about.Format, about.Files = Format, make([]File, 0, len(sources))
	for _, source := range sources {
		file, err := source.describe()
		if err != nil {
			return Manifest{}, fmt.Errorf("reading %s: %w", source.Name, err)
		}
		about.Files = append(about.Files, file)
	}
	if err := about.validate(); err != nil {
		return Manifest{}, err
	}
	manifest, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return Manifest{}, fmt.Errorf("encoding the manifest: %w", err)
	}
	hash := sha256.New()
	archive := tar.NewWriter(io.MultiWriter(out, hash))
	if err := add(archive, File{Name: manifestName, Size: int64(len(manifest))}, Source{Data: manifest}); err != nil {
		return Manifest{}, err
	}
	for i, source := range sources {
		if err := add(archive, about.Files[i], source); err != nil {
			return Manifest{}, err
		}
	}
	if err := archive.Close(); err != nil {
		return Manifest{}, fmt.Errorf("writing the archive: %w", err)
	}
	if _, err := out.Write(hash.Sum(nil)); err != nil {
		return Manifest{}, fmt.Errorf("writing the hash of the archive: %w", err)
	}
	return about, nil
}

// add appends a file to the archive.
func add(archive *tar.Writer, file File, source Source) error {
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file.Name, Size: file.Size, Mode: 0o600})
	if err == nil {
		_, err = source.copyTo(archive)
	}
	if err = errors.Join(err, archive.Flush()); err != nil {
		return fmt.Errorf("writing %s: %w", file.Name, err)
	}
	return nil
}
