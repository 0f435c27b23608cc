package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteReachesTheFileAndTheReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var copied strings.Builder
	for range 2 {
		log, err := Open(path, &copied)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Write([]byte("line\n")); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if _, err := log.Write([]byte("straggler\n")); err != nil {
			t.Errorf("Write after Close = %v, want nil", err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Repeat("line\n", 2), string(stored)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(string(stored), copied.String()); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
}

func TestOpenPutsALongLogAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, make([]byte, limit+1), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for name, want := range map[string]int64{path: 0, path + ".1": limit + 1} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != want {
			t.Errorf("%s has %d bytes, want %d", name, info.Size(), want)
		}
	}
}
