//go:build unix

package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

const (
	// firstPort and lastPort bound the ports of FreeAddress. They are below those that systems give to outgoing connections, from 32768 on:
	// a connection of another process would otherwise take a port before its program listens on it.
	firstPort, lastPort = 20000, 32767
	// maxTries bounds the ports that are tried.
	maxTries = 1000
	// The folder and its files are for all users of the machine.
	portsMode, portMode = 0o777, 0o666
)

var errNoPort = errors.New("no free port")

// reserved has the files that reserve ports for this process. The system frees them when the process ends.
var reserved struct { //nolint:gochecknoglobals // it stands for the process
	sync.Mutex

	files []*os.File
}

// FreeAddress returns a loopback address on which no process listens, for a program that this process starts. No other call of this
// function on this machine returns it again before the process ends.
func FreeAddress() (string, error) {
	folder := filepath.Join(os.TempDir(), "berth-ports")
	if err := os.MkdirAll(folder, portsMode); err != nil {
		return "", fmt.Errorf("reserving a port: %w", err)
	}
	_ = os.Chmod(folder, portsMode) // only the user who made it may, and needs to
	for range maxTries {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort+1)) //nolint:gosec // it is no secret
		file, err := os.OpenFile(filepath.Join(folder, port), os.O_CREATE|os.O_RDWR, portMode)
		if err != nil {
			continue // it is of another user
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isFree(address) {
			reserved.Lock()
			defer reserved.Unlock()
			reserved.files = append(reserved.files, file)
			return address, nil
		}
		_ = file.Close() // nothing was written
	}
	return "", fmt.Errorf("reserving a port from %d to %d: %w", firstPort, lastPort, errNoPort)
}

func isFree(address string) bool {
	listener, err := net.Listen("tcp4", address) //nolint:noctx // it is closed at once
	return err == nil && listener.Close() == nil
}
