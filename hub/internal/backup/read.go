package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Read reads a backup that Write wrote. accept receives the manifest first, and keep each file in order; both may be called for a
// backup that turns out to be damaged later, so what they store counts only without an error. nil keeps nothing.
func Read(in io.Reader, accept func(Manifest) error, keep func(File, io.Reader) error) error {
	whole := &hashedReader{in: bufio.NewReaderSize(in, 1<<16), hash: sha256.New()}
	archive := tar.NewReader(whole)
	header, err := archive.Next()
	switch {
	case errors.Is(err, errDamaged):
		return err
	case err != nil, header.Name != manifestName:
		return errNoBackup
	}
	manifest, err := decodeManifest(archive)
	if err != nil {
		return err
	}
	if accept != nil {
		if err := accept(manifest); err != nil {
			return err
		}
	}
	for _, file := range manifest.Files {
		if err := readFile(archive, file, keep); err != nil {
			return err
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the end of the archive: %w", errDamaged)
	}
	if _, err := io.Copy(io.Discard, whole); err != nil { // up to the hash
		return fmt.Errorf("reading the end of the archive: %w", damaged(err))
	}
	return nil
}

// readFile reads the next file, which must be as the manifest describes it.
func readFile(archive *tar.Reader, want File, keep func(File, io.Reader) error) error {
	header, err := archive.Next()
	if err != nil {
		return fmt.Errorf("reading %s: %w", want.Name, damaged(err))
	}
	if header.Name != want.Name || header.Typeflag != tar.TypeReg || header.Size != want.Size {
		return fmt.Errorf("reading %s: %w", want.Name, errDamaged)
	}
	content := &countedReader{in: archive, hash: sha256.New()}
	if keep != nil {
		err := keep(want, content)
		if err != nil && content.err == nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return fmt.Errorf("reading %s: %w", want.Name, damaged(err))
	}
	if hex.EncodeToString(content.hash.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("reading %s: its hash is wrong: %w", want.Name, errDamaged)
	}
	return nil
}

// damaged returns an error of reading as damage, with its cause.
func damaged(err error) error {
	if errors.Is(err, errDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// countedReader hashes what is read. It records the error of its input, to distinguish it from an error of storing.
type countedReader struct {
	in   io.Reader
	hash hash.Hash
	err  error
}

// Read implements io.Reader.
func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	_, _ = r.hash.Write(p[:n]) // a hash never fails
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err //nolint:wrapcheck // io.EOF must stay as it is
}

// hashedReader reads all but the hash at the end of its input. Instead of io.EOF it returns an error if the hash is wrong.
type hashedReader struct {
	in   *bufio.Reader
	hash hash.Hash
}

// Read implements io.Reader.
func (r *hashedReader) Read(p []byte) (int, error) {
	ahead, err := r.in.Peek(sha256.Size + 1)
	if len(ahead) <= sha256.Size {
		switch {
		case !errors.Is(err, io.EOF):
			return 0, damaged(err)
		case !bytes.Equal(ahead, r.hash.Sum(nil)):
			return 0, fmt.Errorf("the hash at its end is wrong: %w", errDamaged)
		}
		return 0, io.EOF
	}
	n, err := r.in.Read(p[:min(len(p), r.in.Buffered()-sha256.Size)])
	_, _ = r.hash.Write(p[:n]) // a hash never fails
	return n, err              //nolint:wrapcheck // io.EOF cannot occur here
}
