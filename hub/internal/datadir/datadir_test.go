package datadir

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Close)
	return dir
}

func listen(t *testing.T, dir *Dir, port int) int {
	t.Helper()
	listener, err := dir.Listen(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

func TestOpenKeepsASecondHubOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first := open(t, path)
	_, err := Open(path)
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("Open = %v, want a HeldError", err)
	}
	if held.PID != os.Getpid() || held.Path != path {
		t.Errorf("HeldError = %+v, want this process and %s", held, path)
	}
	first.Close()
	open(t, path)
}

func TestOpenSaysWhyAFolderIsUnfit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		path, want string
	}{
		"a file lies there":       {path: file, want: "is not a folder; choose another path"},
		"below a file":            {path: filepath.Join(file, "data"), want: "is not a folder; choose another path"},
		"nobody may write there":  {path: "/proc/berth-hub", want: "berth-hub"},
		"a name no disk can hold": {path: filepath.Join(t.TempDir(), strings.Repeat("x", 300)), want: "opening data folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("Open = %v, want an error with %q and the path", err, c.want)
			}
		})
	}
}

func TestOpenSaysThatAFolderIsReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	path := t.TempDir()
	if err := os.Chmod(path, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is not writable by user") {
		t.Errorf("Open = %v, want that the folder is not writable", err)
	}
}

func TestListenKeepsItsPort(t *testing.T) {
	dir := open(t, t.TempDir())
	listener, err := dir.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	first := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	if again := listen(t, dir, 0); again != first {
		t.Errorf("second start listens on %d, want %d again", again, first)
	}
	if other := listen(t, dir, 0); other == first {
		t.Errorf("third start listens on %d, which is taken", other)
	}
}

func TestListenRefusesATakenPort(t *testing.T) {
	dir := open(t, t.TempDir())
	port := listen(t, dir, 0)
	_, err := dir.Listen(t.Context(), port)
	if err == nil || !strings.Contains(err.Error(), "is taken; stop what listens there or choose another port") {
		t.Errorf("Listen = %v, want that port %d is taken", err, port)
	}
}

func TestListenIgnoresAGarbledPortFile(t *testing.T) {
	dir := open(t, t.TempDir())
	if err := os.WriteFile(dir.Path(portFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen(t, dir, 0)
}
