package datadir

import (
	"os"
	"strings"
	"testing"
)

func TestAFolderOfALaterMinorVersionIsRefused(t *testing.T) {
	for sentence, test := range map[string]struct {
		written, own string
		want         string // in the error; empty: accepted
	}{
		"the same version":            {"v1.36.3", "v1.36.3", ""},
		"an earlier minor version":    {"v1.35.4", "v1.36.3", ""},
		"a later patch":               {"v1.36.9", "v1.36.3", ""},
		"a later minor version":       {"v1.37.0", "v1.36.3", "has objects of Kubernetes v1.37.0, and this release runs Kubernetes v1.36.3"},
		"a later major version":       {"v2.0.0", "v1.36.3", "restore a backup from before the upgrade"},
		"a pre-release of the next":   {"v1.37.0-rc.1", "v1.36.3", "has objects of Kubernetes v1.37.0-rc.1"},
		"a damaged file":              {"1.3", "v1.36.3", "kubernetes-version is damaged: it has \"1.3\""},
		"an empty file":               {"\n", "v1.36.3", ""},
		"a build without its version": {"v1.37.0", "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := open(t, t.TempDir())
			if err := os.WriteFile(dir.Path(versionFile), []byte(test.written+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := dir.RequireVersion(test.own)
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), dir.Path())) {
				t.Errorf("RequireVersion = %v, want %q and the folder in it", err, test.want)
			}
		})
	}
}

func TestTheVersionIsRecorded(t *testing.T) {
	dir := open(t, t.TempDir())
	if err := dir.RequireVersion("v1.36.3"); err != nil {
		t.Errorf("a folder without a version: %v", err)
	}
	for _, want := range []string{"v1.36.3", "v1.36.3", "v1.37.0"} {
		if err := dir.StoreVersion(want); err != nil {
			t.Fatal(err)
		}
		if got, err := Version(dir.Path()); err != nil || got != want {
			t.Errorf("Version = %q, %v, want %s", got, err, want)
		}
	}
	if left, err := os.ReadDir(dir.Path()); err != nil || len(left) != 2 { // and the lock
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// TestAVersionThatIsNotOnTheDiskIsNotNamed writes to a device that cannot be synchronized.
func TestAVersionThatIsNotOnTheDiskIsNotNamed(t *testing.T) {
	dir := open(t, t.TempDir())
	if err := dir.StoreVersion("v1.36.3"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, dir.Path(versionFile)+temporaryMark+"version"); err != nil {
		t.Fatal(err)
	}
	if err := dir.StoreVersion("v1.37.0"); err == nil {
		t.Error("no error")
	}
	if got, err := Version(dir.Path()); err != nil || got != "v1.36.3" {
		t.Errorf("Version = %q, %v, want the former", got, err)
	}
}
