//go:build slow

package backup

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestADamagedDatabaseIsRefusedAndNotChanged damages the database of a stopped hub in several ways. The error names the file and what to
// do, the data is as it was, and the backup brings the hub back.
func TestADamagedDatabaseIsRefusedAndNotChanged(t *testing.T) {
	data, path := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "hub.backup")
	hub := hubtest.New(t, hubtest.Options{DataDir: data})
	mustStore(t, hub, "kept", "value")
	must(t, "backup", path, "--data-dir", data)
	kit.NoError(t, hub.Stop())
	database := filepath.Join(data, "etcd", "member", "snap", "db")
	whole := kit.Must(os.ReadFile(database)).In(t)
	noise := rand.NewChaCha8([32]byte{})
	for name, damage := range map[string]func(file []byte) []byte{
		"noise after the first pages": func(file []byte) []byte { _, _ = noise.Read(file[2*os.Getpagesize():]); return file },
		"zeros in the first megabyte": func(file []byte) []byte { clear(file[8*os.Getpagesize() : 1<<20]); return file },
		"cut after a megabyte":        func(file []byte) []byte { return file[:1<<20] },
		"empty pages at the front":    func(file []byte) []byte { clear(file[:4*os.Getpagesize()]); return file },
	} {
		t.Run(name, func(t *testing.T) {
			kit.NoError(t, os.WriteFile(database, damage(append([]byte(nil), whole...)), 0o600))
			before := hashes(t, filepath.Join(data, "etcd"))
			err := startError(t, hubtest.Options{DataDir: data})
			for _, want := range []string{"the database " + database + " is damaged", "nothing in it was changed", "`berth-hub restore`"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Start = %v, want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "goroutine ") {
				t.Errorf("Start = %v, want no stack trace", err)
			}
			if printed, err := berthHub(t, "backup", path+"-damaged", "--data-dir", data); err == nil || !strings.Contains(printed, "is damaged") {
				t.Errorf("a backup of a damaged database: %v, %s", err, printed)
			}
			requireMissing(t, path+"-damaged")
			if diff := cmp.Diff(before, hashes(t, filepath.Join(data, "etcd"))); diff != "" {
				t.Errorf("the data (-before +after):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(map[string]string{"kept": "value"}, stored(t, restored(t, path))); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// TestAnInterruptedRestoreIsNotStarted checks that a folder whose restore was killed is refused.
func TestAnInterruptedRestoreIsNotStarted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	kit.NoError(t, os.MkdirAll(filepath.Join(data, "restoring"), 0o700))
	err := startError(t, hubtest.Options{DataDir: data})
	if want := "its restore was interrupted; remove the folder, and restore again"; !strings.Contains(err.Error(), want) {
		t.Errorf("Start = %v, want %q", err, want)
	}
}
