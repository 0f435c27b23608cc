package datadir

import (
	"errors"
	"fmt"
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
	listener, err := dir.Listen(t.Context(), "127.0.0.1", port)
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
	var held *LockedError
	if !errors.As(err, &held) {
		t.Fatalf("Open = %v, want a HeldError", err)
	}
	if held.PID != os.Getpid() || held.Path != path {
		t.Errorf("HeldError = %+v, want this process and %s", held, path)
	}
	first.Close()
	open(t, path)
}

func TestOpenReturnsWhyAFolderIsUnfit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		path, want string
	}{
		"the path is a file":                {path: file, want: "is not a folder; choose another path"},
		"below a file":                      {path: filepath.Join(file, "data"), want: "is not a folder; choose another path"},
		"a folder without write permission": {path: "/proc/berth-hub", want: "berth-hub"},
		"a name that is too long":           {path: filepath.Join(t.TempDir(), strings.Repeat("x", 300)), want: "opening data folder"},
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

func TestOpenReturnsThatAFolderIsReadOnly(t *testing.T) {
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
	listener, err := dir.Listen(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	first := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	if first < firstChosen || first > lastChosen {
		t.Errorf("first start listens on %d, want a port from %d to %d", first, firstChosen, lastChosen)
	}
	if again := listen(t, dir, 0); again != first {
		t.Errorf("second start listens on %d, want %d again", again, first)
	}
}

// TestListenRefusesToMove: kubeconfigs and agents name the port of the last start, and would all lose a hub that took another.
func TestListenRefusesToMove(t *testing.T) {
	dir := open(t, t.TempDir())
	port := listen(t, dir, 0)
	_, err := dir.Listen(t.Context(), "127.0.0.1", 0)
	want := fmt.Sprintf("port %d on 127.0.0.1 is taken; the hub in %s had it at its last start", port, dir.path)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Listen = %v, want %q", err, want)
	}
}

func TestListenRefusesATakenPort(t *testing.T) {
	dir := open(t, t.TempDir())
	port := listen(t, dir, 0)
	_, err := dir.Listen(t.Context(), "127.0.0.1", port)
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

// TestADataFolderIsPrivate: it holds keys of administrators. Folders that are not of a hub, such as /tmp, do not change.
func TestADataFolderIsPrivate(t *testing.T) {
	mode := func(path string) os.FileMode {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	widen := func(path string) {
		t.Helper()
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "data")
	open(t, path).Close()
	if mode(path) != 0o700 {
		t.Errorf("a new folder has mode %o, want 700", mode(path))
	}
	if err := os.Mkdir(filepath.Join(path, PKIFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	widen(path)
	open(t, path).Close()
	if mode(path) != 0o700 || mode(filepath.Join(path, PKIFolder)) != 0o700 {
		t.Errorf("a hub's folder has mode %o, its keys %o, want 700", mode(path), mode(filepath.Join(path, PKIFolder)))
	}
	empty := t.TempDir()
	widen(empty)
	open(t, empty).Close()
	if mode(empty) != 0o700 {
		t.Errorf("an empty folder has mode %o, want 700", mode(empty))
	}

	shared := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(shared, lockFile), nil, 0o600), os.Chmod(shared, 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(shared); err == nil || mode(shared) != 0o777 {
		t.Errorf("Open = %v, mode %o, want a shared folder refused and left", err, mode(shared))
	}
	home := t.TempDir()
	widen(home)
	if err := os.WriteFile(filepath.Join(home, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(home)
	if err == nil || !strings.Contains(err.Error(), "is open to other users (mode 0755) and holds other files than a hub's") {
		t.Errorf("Open = %v, want it refused", err)
	}
	if mode(home) != 0o755 {
		t.Errorf("the refused folder has mode %o, want it unchanged", mode(home))
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, home)
}

func TestServerOfAFolder(t *testing.T) {
	dir := open(t, t.TempDir())
	if _, err := Server(dir.Path()); err == nil || !strings.Contains(err.Error(), "no hub has run in the data folder") {
		t.Errorf("Server = %v, want that no hub has run", err)
	}
	port := listen(t, dir, 0)
	if got, err := Server(dir.Path()); err != nil || got != fmt.Sprintf("https://127.0.0.1:%d", port) {
		t.Errorf("Server = %q, %v, want port %d", got, err, port)
	}
}
