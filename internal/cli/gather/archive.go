package gather

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// root is the folder in the archive.
	root     = "berth-gather"
	fileMode = 0o600
)

// errFull is returned when a file would exceed the bound of the archive.
var errFull = errors.New("the archive is full")

// archive writes files to a compressed tar archive, and at most so many bytes.
type archive struct {
	compressed *gzip.Writer
	files      *tar.Writer
	now        time.Time
	left       int64
}

func newArchive(out io.Writer, now time.Time, limit int64) *archive {
	compressed := gzip.NewWriter(out)
	return &archive{compressed: compressed, files: tar.NewWriter(compressed), now: now, left: limit}
}

// add writes a file. It returns errFull, and writes nothing, where the archive has no room for it.
func (a *archive) add(name string, content []byte) error {
	if int64(len(content)) > a.left {
		return errFull
	}
	a.left -= int64(len(content))
	return a.write(name, content)
}

// write writes a file, whatever its size.
func (a *archive) write(name string, content []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: root + "/" + name, Size: int64(len(content)), Mode: fileMode, ModTime: a.now}
	if err := a.files.WriteHeader(header); err != nil {
		return fmt.Errorf("writing %s to the archive: %w", name, err)
	}
	if _, err := a.files.Write(content); err != nil {
		return fmt.Errorf("writing %s to the archive: %w", name, err)
	}
	return nil
}

// close completes the archive.
func (a *archive) close() error {
	if err := errors.Join(a.files.Close(), a.compressed.Close()); err != nil {
		return fmt.Errorf("completing the archive: %w", err)
	}
	return nil
}
