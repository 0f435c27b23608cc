//go:build slow

package backup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestABackupHasWhatWasStored makes backups of a hub that runs, that was killed, and that is stopped, encrypted and not.
func TestABackupHasWhatWasStored(t *testing.T) {
	data, folder := filepath.Join(t.TempDir(), "data"), t.TempDir()
	key := filepath.Join(folder, "private")
	public := filepath.Join(folder, "public")
	kit.NoError(t, os.WriteFile(public, []byte(must(t, "backup", "key", key)), 0o600))
	hub := hubtest.New(t, hubtest.Options{DataDir: data})
	backups := map[string][]string{}
	want := map[string]map[string]string{}
	backup := func(name, writeKey string, readArgs ...string) {
		mustStore(t, hub, name, "before the backup")
		path := filepath.Join(folder, name)
		args := []string{"backup", path, "--data-dir", data}
		if writeKey != "" {
			args = append(args, "--key-file", writeKey)
		}
		want[path] = stored(t, hub)
		switch name {
		case "killed":
			hub.Kill()
		case "stopped":
			kit.NoError(t, hub.Stop())
		}
		printed := must(t, args...)
		if !strings.Contains(printed, path+" is complete") || strings.Contains(printed, "not encrypted") == (writeKey != "") {
			t.Errorf("backup printed %q", printed)
		}
		if printed := must(t, append([]string{"backup", "verify", path}, readArgs...)...); !strings.Contains(printed, "is complete") {
			t.Errorf("verify printed %q", printed)
		}
		backups[path] = readArgs
	}
	backup("running", public, "--key-file", key)
	backup("killed", key, "--key-file", key)
	hub = hubtest.New(t, hubtest.Options{DataDir: data})
	backup("stopped", "")
	for path, args := range backups {
		hub := restored(t, path, args...)
		if diff := cmp.Diff(want[path], stored(t, hub)); diff != "" {
			t.Errorf("%s restored (-want +got):\n%s", path, diff)
		}
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(data, "backup-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the data folder has %v, %v", left, err)
	}
}

// TestWhatIsEncryptedFollowsTheFlag starts a hub on the same data with different choices. Stored objects follow each choice.
func TestWhatIsEncryptedFollowsTheFlag(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	first := true
	for _, choice := range []struct {
		flag         string
		secret, work bool
	}{
		{flag: "--encrypt=", secret: false, work: false},
		{flag: "--encrypt=secrets,works", secret: true, work: true},
		{flag: "--encrypt=works", secret: false, work: true},
		{flag: "--unsafe-no-fsync", secret: true, work: false}, // the default
	} {
		hub := hubtest.New(t, hubtest.Options{DataDir: data, Args: []string{choice.flag}})
		if first {
			plant(t, hub)
		}
		first = false
		requirePlanted(t, hub, choice.secret, choice.work)
		kit.NoError(t, hub.Stop())
	}
	key := filepath.Join(data, "pki", "encryption.key")
	kit.NoError(t, os.Remove(key))
	if err := startError(t, hubtest.Options{DataDir: data}); !strings.Contains(err.Error(), key+" is missing; restore it from a backup") {
		t.Errorf("a hub without its key starts: %v", err)
	}
	requireMissing(t, key)
	if err := startError(t, hubtest.Options{Args: []string{"--encrypt=pods"}}); !strings.Contains(err.Error(), `"pods" cannot be encrypted`) {
		t.Errorf("a hub that is to encrypt something else starts: %v", err)
	}
}

// TestAnUnfitBackupIsNotRestored checks that a refused restore leaves nothing, and that one into a folder with files changes nothing.
func TestAnUnfitBackupIsNotRestored(t *testing.T) {
	data, folder := filepath.Join(t.TempDir(), "data"), t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	hub := hubtest.New(t, hubtest.Options{DataDir: data})
	must(t, "backup", "key", file("key"))
	must(t, "backup", "key", file("other-key"))
	must(t, "backup", file("plain"), "--data-dir", data)
	must(t, "backup", file("encrypted"), "--data-dir", data, "--key-file", file("key"))
	write := func(name string, data []byte) {
		kit.NoError(t, os.WriteFile(file(name), data, 0o600))
	}
	for _, name := range []string{"plain", "encrypted"} {
		whole := kit.Must(os.ReadFile(file(name))).In(t)
		flipped := bytes.Clone(whole)
		flipped[len(flipped)/2] ^= 4
		write(name+"-flipped", flipped)
		write(name+"-cut", whole[:len(whole)*2/3])
	}
	newer := kit.Must(os.ReadFile(file("plain"))).In(t)
	write("newer", bytes.Replace(newer, []byte(`"format": 1`), []byte(`"format": 2`), 1))
	write("newer-kubernetes", bytes.Replace(newer, []byte(`"kubernetes": "v1.`), []byte(`"kubernetes": "v9.`), 1))
	kit.NoError(t, os.Mkdir(file("with-files"), 0o700))
	write("with-files/notes", []byte("mine"))

	for name, tc := range map[string]struct {
		backup, key, into string
		want              string
	}{
		"a folder with files": {
			backup: "plain", into: file("with-files"),
			want: "is not empty: it has notes; restore into another folder",
		},
		"the folder of a hub that runs":  {backup: "plain", into: data, want: "is not empty"},
		"a file as the folder":           {backup: "plain", into: file("plain"), want: "is not a folder"},
		"no key":                         {backup: "encrypted", want: "it is encrypted: give the file with its private key"},
		"the wrong key":                  {backup: "encrypted", key: "other-key", want: "the key does not open it"},
		"a key for a plain backup":       {backup: "plain", key: "key", want: "it is not encrypted: give no key"},
		"a flipped bit":                  {backup: "plain-flipped", want: "it is damaged or truncated; use another backup"},
		"a flipped bit, encrypted":       {backup: "encrypted-flipped", key: "key", want: "it is damaged or truncated; use another backup"},
		"a truncated backup":             {backup: "plain-cut", want: "it is damaged or truncated; use another backup"},
		"a truncated backup, encrypted":  {backup: "encrypted-cut", key: "key", want: "it is damaged or truncated; use another backup"},
		"a newer format":                 {backup: "newer", want: "it has format 2, and this release reads format 1"},
		"a newer version of Kubernetes":  {backup: "newer-kubernetes", want: "which is newer than"},
		"a backup that does not exist":   {backup: "none", want: "no such file"},
		"another file in place of a key": {backup: "encrypted", key: "plain", want: "holds no keys of age"},
	} {
		t.Run(name, func(t *testing.T) {
			into := tc.into
			if into == "" {
				into = filepath.Join(t.TempDir(), "new")
			}
			args := []string{"restore", file(tc.backup), "--data-dir", into}
			if tc.key != "" {
				args = append(args, "--key-file", file(tc.key))
			}
			if printed, err := berthHub(t, args...); err == nil || !strings.Contains(printed, tc.want) || strings.Contains(printed, "goroutine ") {
				t.Errorf("restore = %v, printed %q, want %q", err, printed, tc.want)
			}
			if tc.into == "" {
				requireMissing(t, into)
			}
		})
	}
	entries, err := os.ReadDir(file("with-files"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder with files has %v, %v", entries, err)
	}
	mustStore(t, hub, "still-running", "")
	if printed, err := berthHub(t, "backup", file("plain"), "--data-dir", data); err == nil ||
		!strings.Contains(printed, "name another file") {
		t.Errorf("a backup over a file: %v, %s", err, printed)
	}
	if printed, err := berthHub(t, "backup", file("new"), "--data-dir", file("nothing")); err == nil ||
		!strings.Contains(printed, "no hub has run in the data folder") {
		t.Errorf("a backup of no hub: %v, %s", err, printed)
	}
	requireMissing(t, file("nothing"))
}
