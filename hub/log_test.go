package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogReachesTheFileAndTheCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var copied strings.Builder
	for range 2 {
		log := newLogWriter(path, &copied)
		if _, err := log.Write([]byte("line\n")); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if _, err := log.Write([]byte("after Close\n")); err != nil {
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

func TestLogIsRotated(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, make([]byte, maxLogMegabytes<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	log := newLogWriter(path, nil)
	defer log.Close()
	if _, err := log.Write([]byte("line\n")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Errorf("got %v, want the log and one rotated file", files)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != int64(len("line\n")) {
		t.Errorf("the log has %v (%v), want one line", info, err)
	}
}
