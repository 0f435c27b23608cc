package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// memberNameFile has the name of a member, once its agent has a credential.
const memberNameFile = "cluster-name"

// IsMember returns whether a folder is that of a member. The folder need not be locked.
func IsMember(path string) bool { return exists(filepath.Join(path, BootstrapFile)) }

// IsHub returns whether a folder has the data of a hub. The folder need not be locked.
func IsHub(path string) bool { return exists(filepath.Join(path, EtcdFolder)) && !IsMember(path) }

// MemberName returns the name of the member of a folder; empty before its agent has a credential.
func MemberName(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(path, AgentFolder, memberNameFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the name of the member: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// exists returns whether a path can be found. Opening the folder reports why it cannot.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
