package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// private is the mode of the folder: it holds the keys of the hub's authorities, the administrator's among them.
const (
	privateMode    = 0o700
	otherUsersMode = 0o077
)

// restrictAccess makes a hub's folder private. A folder that other users may enter, and that holds something else than a hub's data,
// is refused: it may be a home folder, or /tmp.
func restrictAccess(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return openError(path, err)
	}
	if info.Mode().Perm()&otherUsersMode != 0 {
		if err := removeOtherAccess(path, info.Mode()); err != nil {
			return err
		}
	}
	for _, folder := range []string{EtcdFolder, PKIFolder} {
		if err := os.Chmod(filepath.Join(path, folder), privateMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("closing %s to other users: %w", filepath.Join(path, folder), err)
		}
	}
	return nil
}

func removeOtherAccess(path string, mode fs.FileMode) error {
	fit, err := usedByHub(path)
	if err != nil {
		return err
	}
	if !fit || mode&fs.ModeSticky != 0 { // in a folder that many users share, any of them may have made the files
		return fmt.Errorf("data folder %s is open to other users (mode %#o) and holds other files than a hub's; "+
			"choose another folder, or close this one with chmod 700", path, mode.Perm())
	}
	if err := os.Chmod(path, privateMode); err != nil {
		return fmt.Errorf("data folder %s is open to other users (mode %#o) and cannot be closed; "+
			"choose another folder, or let its owner run chmod 700: %w", path, mode.Perm(), err)
	}
	return nil
}

// usedByHub reports whether a folder is empty, or the data folder of a hub that ran before.
func usedByHub(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false, openError(path, err)
	}
	if len(entries) == 0 {
		return true, nil
	}
	for _, entry := range entries {
		if entry.Name() == lockFile {
			return true, nil
		}
	}
	return false, nil
}
