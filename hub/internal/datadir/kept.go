package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// BackupPrefix begins the names of folders in which a backup that runs has its snapshot.
	BackupPrefix = "backup-"
	// temporaryMark is in the name of a file that replaces another one when it is complete.
	temporaryMark = ".next-"
)

// kept returns the elements of a data folder that a start of the hub does not write anew, without etcd's data: keys and certificates,
// the port, and the credentials of the agent of a member.
func kept() []string {
	return []string{PKIFolder, portFile, hostFile, AgentFolder, BootstrapFile, DriverFile}
}

// IsKept returns whether a path in a data folder, with slashes, is part of a backup.
func IsKept(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains(kept(), first)
}

// Kept returns the paths of the files that are part of a backup beside etcd's data, with slashes and relative to the folder.
func Kept(path string) ([]string, error) {
	var out []string
	for _, element := range kept() {
		root := filepath.Join(path, element)
		if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || strings.Contains(entry.Name(), temporaryMark) {
				return err
			}
			name, err := filepath.Rel(path, file)
			out = append(out, filepath.ToSlash(name))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing the files of data folder %s: %w", path, err)
		}
	}
	return out, nil
}

// RemoveSnapshots removes what backups that were killed have left in the folder.
func (d *Dir) RemoveSnapshots() error {
	left, err := filepath.Glob(d.Path(BackupPrefix + "*"))
	for _, folder := range left {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if err != nil {
		return fmt.Errorf("removing what a backup has left: %w", err)
	}
	return nil
}

// StoreEtcdEndpoint records where etcd serves, for commands on the same machine.
func (d *Dir) StoreEtcdEndpoint(url string) error {
	if err := os.WriteFile(d.Path(endpointFile), []byte(url+"\n"), 0o600); err != nil {
		return fmt.Errorf("recording the endpoint of etcd: %w", err)
	}
	return nil
}

// EtcdEndpoint returns where etcd served at the last start of the hub of a folder. The folder need not be locked.
func EtcdEndpoint(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(path, endpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the hub of data folder %s has not started yet, or is of an earlier release; try again, or stop it first", path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the endpoint of etcd: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
