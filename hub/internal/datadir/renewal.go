package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// renewalFile exists while the hub of the folder is requested to renew its certificates. It is part of no backup.
const renewalFile = "renew-certificates"

// RequestRenewal requests that the hub of a folder, which must run, renews its certificates. The hub removes the returned file when it
// has.
func RequestRenewal(path string) (file string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolving data folder %q: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(path, lockFile)); err != nil {
		return "", fmt.Errorf("no hub has run in the data folder %s; name the folder of the hub with --data-dir: %w", path, err)
	}
	dir, err := Open(path)
	if _, running := errors.AsType[*LockedError](err); !running {
		if err != nil {
			return "", err
		}
		dir.Close()
		return "", fmt.Errorf("no hub runs on data folder %s: a hub renews its certificates at its start", path)
	}
	file = filepath.Join(path, renewalFile)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return "", fmt.Errorf("requesting new certificates: %w", err)
	}
	return file, nil
}

// RenewalRequested returns whether new certificates are requested.
func (d *Dir) RenewalRequested() (bool, error) {
	_, err := os.Lstat(d.Path(renewalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for a request for new certificates: %w", err)
	}
	return true, nil
}

// RemoveRenewalRequest removes a request that was fulfilled.
func (d *Dir) RemoveRenewalRequest() error {
	if err := os.Remove(d.Path(renewalFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a request for new certificates: %w", err)
	}
	return nil
}
