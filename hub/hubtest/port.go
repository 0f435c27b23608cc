package hubtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A hub that starts again on its data needs the port that it had. The ports from 32768 on are what Linux gives to every listener and
// connection that names none, so another test would get it in between.
const (
	firstPort = 20000
	lastPort  = 29999
	portTries = 50
)

// portArgs returns the flag with the port of a hub that starts for the first time on a folder of the caller.
func (o Options) portArgs(ctx context.Context) ([]string, error) {
	named := slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, "--port") })
	if _, err := os.Stat(filepath.Join(o.DataDir, "port")); err == nil || named {
		return nil, nil // the hub keeps the port of its last start
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	return []string{"--port=" + strconv.Itoa(port)}, nil
}

// freePort returns a port on 127.0.0.1 that nothing listens on, and that the system never gives to a listener that names none.
func freePort(ctx context.Context) (int, error) {
	var last error
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("looking for a free port from %d to %d: %w", firstPort, lastPort, last)
}
