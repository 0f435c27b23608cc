package credential

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFileBytes is far more than any file of a credential.
const maxFileBytes = 1 << 20

var errTooLarge = errors.New("larger than 1 MiB")

// Store keeps the files of a credential.
type Store interface {
	// Load returns the files; those that do not exist are missing.
	Load(ctx context.Context) (Files, error)
	// Save replaces the files. Other files stay.
	Save(ctx context.Context, files Files) error
}

// Folder is a store in a folder. One process writes to it.
type Folder string

// Load implements Store.
func (f Folder) Load(context.Context) (Files, error) {
	out := Files{}
	for _, name := range fileNames() {
		path := filepath.Join(string(f), name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxFileBytes {
			err = errTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if out[name], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading the credential: %w", err)
		}
	}
	return out, nil
}

// Save implements Store. All files are complete on disk before the first one gets its name. A crash between two names leaves a
// key that does not go with its certificate; the agent then requests another certificate.
func (f Folder) Save(_ context.Context, files Files) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the credential: %w", err)
	}
	const suffix = ".new"
	for name, data := range files {
		if err := writeFile(filepath.Join(string(f), name+suffix), data); err != nil {
			return fmt.Errorf("storing the credential: %w", err)
		}
	}
	for _, name := range fileNames() {
		if _, ok := files[name]; !ok {
			continue
		}
		path := filepath.Join(string(f), name)
		if err := os.Rename(path+suffix, path); err != nil {
			return fmt.Errorf("storing the credential: %w", err)
		}
	}
	return nil
}

func writeFile(path string, data []byte) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // the error names the file
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(data); err != nil {
		return err //nolint:wrapcheck // the error names the file
	}
	return file.Sync() //nolint:wrapcheck // the error names the file
}

// fileNames returns the names of all files, in the order in which they are stored: the key pair before the kubeconfig that
// refers to it.
func fileNames() []string {
	return []string{ClusterKey, AgentKey, PrivateKey, CertKey, TokenKey, BootstrapCAKey, SupersededKey, KubeconfigKey}
}
