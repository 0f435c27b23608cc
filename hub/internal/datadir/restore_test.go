package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names returns the names in a folder.
func names(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

func TestARestoredFolderIsThereAsAWhole(t *testing.T) {
	for name, path := range map[string]string{"a new folder": filepath.Join(t.TempDir(), "a", "b"), "an empty folder": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			target, err := Restore(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(target.Path("port"), []byte("6443"), 0o600); err != nil {
				t.Fatal(err)
			}
			var locked *LockedError
			if _, err := Open(path); !errors.As(err, &locked) {
				t.Errorf("Open during a restore = %v, want that the folder is locked", err)
			}
			if err := target.Complete(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"lock", "port"}, names(t, path)); diff != "" {
				t.Errorf("the folder (-want +got):\n%s", diff)
			}
			dir, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			dir.Close()
		})
	}
}

func TestNothingIsLeftOfADiscardedRestore(t *testing.T) {
	empty, missing := t.TempDir(), filepath.Join(t.TempDir(), "new")
	for _, path := range []string{empty, missing} {
		target, err := Restore(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(target.Path("port"), nil, 0o600), target.Discard()); err != nil {
			t.Error(err)
		}
	}
	if left := names(t, empty); len(left) > 0 {
		t.Errorf("the folder that was empty has %v", left)
	}
	if _, err := os.Lstat(missing); !os.IsNotExist(err) {
		t.Errorf("the folder that did not exist is there: %v", err)
	}
}

func TestAnInterruptedRestoreIsRefused(t *testing.T) {
	path := t.TempDir()
	target, err := Restore(path)
	if err != nil {
		t.Fatal(err)
	}
	target.dir.Close() // the process ends
	const want = "its restore was interrupted; remove the folder, and restore again"
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open = %v, want %q", err, want)
	}
	if _, err := Restore(path); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("Restore = %v, want that the folder is not empty", err)
	}
}

func TestKept(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{
		"pki/users-ca.key", "pki/admin.crt.next-1", "port", "agent/tls.key", "hub.log", "lock", "admin.kubeconfig",
		"etcd/member/snap/db",
	} {
		file := filepath.Join(path, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Kept(path)
	if diff := cmp.Diff([]string{"pki/users-ca.key", "port", "agent/tls.key"}, got); err != nil || diff != "" {
		t.Errorf("Kept = %v (-want +got):\n%s", err, diff)
	}
	for name, want := range map[string]bool{
		"pki/a": true, "port": true, "portal": false, "etcd/member": false, "lock": false,
		"../pki/a": false,
	} {
		if IsKept(name) != want {
			t.Errorf("IsKept(%q) = %t", name, !want)
		}
	}
}

func TestAFolderIsThatOfAHubOrOfAMember(t *testing.T) {
	path := t.TempDir()
	if IsHub(path) || IsMember(path) {
		t.Error("an empty folder is that of a hub or of a member")
	}
	if err := os.MkdirAll(filepath.Join(path, EtcdFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	if !IsHub(path) || IsMember(path) {
		t.Error("a folder with a database is not that of a hub")
	}
	if err := os.WriteFile(filepath.Join(path, BootstrapFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if IsHub(path) || !IsMember(path) {
		t.Error("a folder with a bootstrap kubeconfig is not that of a member")
	}
	if name, err := MemberName(path); name != "" || err != nil {
		t.Errorf("before it has joined, the member has the name %q, %v", name, err)
	}
	file := filepath.Join(path, AgentFolder, memberNameFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("edge-1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if name, err := MemberName(path); name != "edge-1" || err != nil {
		t.Errorf("the member has the name %q, %v", name, err)
	}
}
