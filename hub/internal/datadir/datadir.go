// Package datadir owns the hub's folder: its layout, the lock that excludes a second hub, and the port that the hub keeps over
// restarts.
//
// The components own the content of their subfolders. The invariant: the holder of a Dir is the only hub that writes below its
// path.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Names of the files in the folder.
const (
	AdminKubeconfig = "admin.kubeconfig"
	LogFile         = "hub.log"
	EtcdFolder      = "etcd"
	PKIFolder       = "pki"

	// AgentFolder, BootstrapFile and DriverFile are where a member has the credentials of its agent, and how the agent authenticates.
	AgentFolder   = "agent"
	BootstrapFile = "bootstrap.kubeconfig"
	DriverFile    = "agent-driver"

	lockFile     = "lock"
	portFile     = "port"
	hostFile     = "host"
	endpointFile = "etcd-endpoint"
)

// LockedError is returned when another hub uses the folder.
type LockedError struct {
	// Path is the folder.
	Path string
	// PID is the process ID of that hub, or 0 if it is not written yet.
	PID int
}

// Error names the folder, the other hub, and two remedies.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("data folder %s is in use by a hub in %s; stop that hub or choose another folder", e.Path, holder)
}

// Dir is a locked data folder. Close releases it; the operating system does so
// too when the process dies, so a crash leaves no stale lock.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the folder if needed and locks it. It checks that the hub can write there and that other users cannot read it.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving data folder %q: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, openError(path, err)
	}
	if err := restrictAccess(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, openError(path, err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := &LockedError{Path: path, PID: lockHolder(lock)}
		_ = lock.Close() // the file was not written
		return nil, held
	}
	dir := &Dir{path: path, lock: lock}
	if err == nil {
		err = dir.writePID()
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("locking data folder %s: %w", path, err)
	}
	if err := dir.requireComplete(); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// Close unlocks the folder and keeps its content.
func (d *Dir) Close() {
	_ = d.lock.Close() // closing drops the lock whatever else it reports
}

// Path returns the absolute path of an element of the folder.
func (d *Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// writePID writes our process ID into the lock file, for the error of another hub.
func (d *Dir) writePID() error {
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("clearing the lock file: %w", err)
	}
	if _, err := d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	return nil
}

func lockHolder(lock *os.File) int {
	text := make([]byte, 32)
	n, _ := lock.ReadAt(text, 0) // a short read is the usual end of file
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// openError returns why the hub cannot use its folder, with advice.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("data folder %s is not writable by user %d; change its permissions or choose another folder: %w", path, os.Getuid(),
			err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return fmt.Errorf("data folder %s is not a folder; choose another path: %w", path, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("data folder %s is on a full disk; free some space or choose another folder: %w", path, err)
	default:
		return fmt.Errorf("opening data folder %s: %w", path, err)
	}
}
