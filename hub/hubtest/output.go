package hubtest

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// readyLine is how berth-hub says that it is ready.
const readyLine = "export KUBECONFIG="

// output collects what a hub prints and picks the kubeconfig from it.
type output struct {
	kubeconfig chan string

	mu    sync.Mutex
	text  bytes.Buffer
	found bool
}

func newOutput() *output {
	return &output{kubeconfig: make(chan string, 1)}
}

// Write implements io.Writer for the process.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(data)
	if !o.found {
		o.scan()
	}
	return len(data), nil
}

// scan looks for the ready line, once it is complete.
func (o *output) scan() {
	_, rest, ok := strings.Cut(o.text.String(), readyLine)
	if !ok {
		return
	}
	if path, _, ended := strings.Cut(rest, "\n"); ended {
		o.found = true
		o.kubeconfig <- path
	}
}

// String returns everything printed so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.text.String())
}

// killed tells whether a process ended by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
