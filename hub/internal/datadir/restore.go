package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-project/berth/hub/internal/durable"
)

// restoringFolder is in a data folder that is being restored. It holds the content until that is complete. No hub starts beside it.
const restoringFolder = "restoring"

// Restoring is a new data folder without its content.
type Restoring struct {
	dir *Dir
	// created is true if the folder did not exist.
	created bool
}

// Restore creates and locks a data folder. A folder that has files is refused.
func Restore(path string) (*Restoring, error) {
	entries, err := os.ReadDir(path)
	created := errors.Is(err, fs.ErrNotExist)
	if err != nil && !created {
		return nil, openError(path, err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("data folder %s is not empty: it has %s; restore into another folder, or move this one away first", path,
			entries[0].Name())
	}
	dir, err := Open(path)
	if err != nil {
		return nil, err
	}
	out := &Restoring{dir: dir, created: created}
	if err := os.Mkdir(out.Path(), privateMode); err != nil {
		return nil, errors.Join(fmt.Errorf("creating the content of data folder %s: %w", path, err), out.Discard())
	}
	return out, nil
}

// Path returns the path of an element of the new content.
func (r *Restoring) Path(elem ...string) string {
	return r.dir.Path(append([]string{restoringFolder}, elem...)...)
}

// Complete moves the content to its place and unlocks the folder.
func (r *Restoring) Complete() error {
	entries, err := os.ReadDir(r.Path())
	if err != nil {
		return fmt.Errorf("reading the restored content: %w", err)
	}
	for _, entry := range entries {
		if err := os.Rename(r.Path(entry.Name()), r.dir.Path(entry.Name())); err != nil {
			return fmt.Errorf("moving the restored content: %w", err)
		}
	}
	if err := errors.Join(durable.Sync(r.dir.Path()), os.Remove(r.Path()), durable.Sync(r.dir.Path())); err != nil {
		return fmt.Errorf("completing the restored content: %w", err)
	}
	r.dir.Close()
	return nil
}

// Discard removes what Restore created, and the content.
func (r *Restoring) Discard() error {
	err := errors.Join(os.RemoveAll(r.Path()), os.Remove(r.dir.Path(lockFile)))
	if r.created {
		err = errors.Join(err, os.Remove(r.dir.Path()))
	}
	r.dir.Close()
	if err != nil {
		return fmt.Errorf("removing the incomplete data folder: %w", err)
	}
	return nil
}

// requireComplete returns an error for a folder whose restore was interrupted.
func (d *Dir) requireComplete() error {
	if _, err := os.Lstat(d.Path(restoringFolder)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data folder %s is incomplete, because its restore was interrupted; remove the folder, and restore again",
			filepath.Clean(d.path))
	}
	return nil
}
