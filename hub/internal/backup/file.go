package backup

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"github.com/berth-project/berth/hub/internal/durable"
)

var errUnlike = errors.New("the disk returns other bytes than were written")

// Create writes a backup to a new file that only its owner can read, and reads it back before the file has its name. keyFile has the
// keys that encrypt it; empty is no encryption. With a private key the whole content is read back, with a public key the bytes are
// compared. collect returns the content, once it is sure that there is no such file yet and that the keys are fine.
func Create(path, keyFile string, collect func() (Manifest, []Source, error)) (Manifest, error) {
	if err := absent(path); err != nil {
		return Manifest{}, err
	}
	var keys keys
	if keyFile != "" {
		var err error
		if keys, err = readKeys(keyFile); err != nil {
			return Manifest{}, err
		}
	}
	about, sources, err := collect()
	if err != nil {
		return Manifest{}, err
	}
	partial, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*") // has mode 0600
	if err != nil {
		return Manifest{}, fmt.Errorf("creating the backup: %w", err)
	}
	defer os.Remove(partial.Name()) //nolint:errcheck // after the rename there is no such file
	hash := sha256.New()
	manifest, err := encrypt(io.MultiWriter(partial, hash), keys.recipients, about, sources)
	if err := errors.Join(err, partial.Sync(), partial.Close()); err != nil {
		return Manifest{}, fmt.Errorf("writing the backup %s: %w", path, err)
	}
	if err := verify(partial.Name(), keyFile, hash.Sum(nil), keyFile == "" || len(keys.identities) > 0); err != nil {
		return Manifest{}, fmt.Errorf("reading the backup %s back: %w", path, err)
	}
	return manifest, publish(partial.Name(), path)
}

// publish gives a file its name, which no other file has.
func publish(from, to string) error {
	if err := absent(to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("naming the backup: %w", err)
	}
	return durable.Sync(filepath.Dir(to))
}

// absent returns an error if a file exists.
func absent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("writing the backup %s: %w; name another file", path, fs.ErrExist), err)
	}
	return nil
}

// encrypt writes a backup, encrypted for the recipients if there are any.
func encrypt(out io.Writer, recipients []age.Recipient, about Manifest, sources []Source) (Manifest, error) {
	if len(recipients) == 0 {
		return Write(out, about, sources)
	}
	encrypted, err := age.Encrypt(out, recipients...)
	if err != nil {
		return Manifest{}, fmt.Errorf("encrypting it: %w", err)
	}
	manifest, err := Write(encrypted, about, sources)
	if err == nil {
		err = encrypted.Close()
	}
	return manifest, err
}

// verify compares the hash of a file, and reads the whole backup where it can be decrypted.
func verify(path, keyFile string, want []byte, readable bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // the caller names the file
	}
	defer file.Close() //nolint:errcheck // it is only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err //nolint:wrapcheck // the caller names the file
	}
	if !bytes.Equal(hash.Sum(nil), want) {
		return errUnlike
	}
	if !readable {
		return nil
	}
	return ReadFile(path, keyFile, nil, nil)
}

// ReadFile reads a backup as Read does. keyFile has the private key of an encrypted one, and is empty otherwise.
func ReadFile(path, keyFile string, accept func(Manifest) error, keep func(File, io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the backup: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	content, err := decrypted(file, keyFile)
	if err != nil {
		return fmt.Errorf("reading the backup %s: %w", path, err)
	}
	if err := Read(content, accept, keep); err != nil {
		return fmt.Errorf("reading the backup %s: %w", path, err)
	}
	return nil
}
