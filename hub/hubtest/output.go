package hubtest

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
)

// readyLine is how berth-hub says that it is ready.
const readyLine = "export KUBECONFIG="

// hubOutput collects what a hub prints and picks the kubeconfig from it.
type hubOutput struct {
	outputBuffer
	kubeconfig chan string
	found      bool
}

func newHubOutput() *hubOutput {
	return &hubOutput{kubeconfig: make(chan string, 1)}
}

// Write implements io.Writer for the process.
func (o *hubOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(data)
	if !o.found {
		o.scan()
	}
	return len(data), nil
}

// scan looks for the ready line, once it is complete.
func (o *hubOutput) scan() {
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
func (o *hubOutput) String() string {
	return strings.TrimSpace(o.outputBuffer.String())
}

// wasKilled tells whether a process ended by SIGKILL.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
