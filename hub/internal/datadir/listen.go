package datadir

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const loopback = "127.0.0.1"

// A hub that chooses its port keeps it, so the port must stay free while the hub is stopped: from 32768 on, Linux gives ports to every
// listener and connection that names none.
const (
	firstChosen = 20000
	lastChosen  = 29999
	choices     = 100
)

// A taken port of the last start is tried again for a while: the hub that had it may be stopping.
const retryDelay, patience = 250 * time.Millisecond, 5 * time.Second

// Listen opens the API server's listener on an IP address. Port 0 is the port of the last start, and at the first start a free one. A taken
// port is an error, also that of the last start: kubeconfigs and agents name it. The API server receives the open listener, so no other
// process can take the port.
func (d *Dir) Listen(ctx context.Context, host string, port int) (net.Listener, error) {
	listener, err := d.listen(ctx, host, port)
	if err != nil {
		return nil, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("listening on %s: not a TCP address", listener.Addr())
	}
	for file, kept := range map[string]string{portFile: strconv.Itoa(address.Port), hostFile: host} {
		if err := os.WriteFile(d.Path(file), []byte(kept+"\n"), 0o600); err != nil {
			_ = listener.Close() // the write error is the one to report
			return nil, fmt.Errorf("keeping the %s: %w", file, err)
		}
	}
	return listener, nil
}

// ServerURL returns the URL of an API server for clients on the same machine.
func ServerURL(host, port string) string {
	if net.ParseIP(host).IsUnspecified() {
		host = loopback
	}
	return "https://" + net.JoinHostPort(host, port)
}

// Server returns the URL of the hub of a folder, at its last start. The folder need not be locked.
func Server(path string) (string, error) {
	port := lastPort(filepath.Join(path, portFile))
	if port == 0 {
		return "", fmt.Errorf("no hub has run in the data folder %s; start berth-hub there first, or name another folder", path)
	}
	host := loopback
	if kept, err := os.ReadFile(filepath.Join(path, hostFile)); err == nil { // earlier releases kept none
		host = strings.TrimSpace(string(kept))
	}
	return ServerURL(host, strconv.Itoa(port)), nil
}

func (d *Dir) listen(ctx context.Context, host string, port int) (net.Listener, error) {
	if port != 0 {
		return listenOn(ctx, host, port)
	}
	last := lastPort(d.Path(portFile))
	if last == 0 {
		return choose(ctx, host)
	}
	var listener net.Listener
	var err error
	_ = wait.PollUntilContextTimeout(ctx, retryDelay, patience, true, func(context.Context) (bool, error) { // err is the one to report
		listener, err = listenOn(ctx, host, last)
		return !errors.Is(err, syscall.EADDRINUSE), nil
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d on %s is taken; the hub in %s had it at its last start, and its kubeconfigs and agents name it: "+
			"stop what listens there, or move the hub with --port to another, and name that to its agents", last, host, d.path)
	}
	return listener, err
}

// choose listens on a free port. A port that the system gives away is the last resort.
func choose(ctx context.Context, host string) (net.Listener, error) {
	for range choices {
		port := firstChosen + rand.IntN(lastChosen-firstChosen+1) //nolint:gosec // a port is no secret
		listener, err := listenOn(ctx, host, port)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
	}
	return listenOn(ctx, host, 0)
}

// lastPort returns the port of the last start, or 0 without a stored port.
func lastPort(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return port
}

func listenOn(ctx context.Context, host string, port int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d on %s is taken; stop what listens there or choose another port (0 takes a free one): %w", port, host, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("port %d on %s needs more privileges; choose a port above 1023 (0 takes a free one): %w", port, host, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is no address of this machine; choose one, or 0.0.0.0 for all: %w", host, err)
	case err != nil:
		return nil, fmt.Errorf("listening on %s port %d: %w", host, port, err)
	}
	return listener, nil
}
