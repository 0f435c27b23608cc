package hub

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// stopTimeout is how long a process may take to end in its orderly way.
	stopTimeout = 30 * time.Second
	// maxLogBytes is how much of a log is kept: its end.
	maxLogBytes = 16 << 10
)

// Process is a running process.
type Process struct {
	name    string
	command *exec.Cmd
	// terminate tells the process to end, once: twice would be taken for impatience.
	terminate func() error
	log       logTail
	done      chan struct{}
	err       error // set before done closes
}

// start starts a program. It is told to stop when ctx ends or Stop is called.
func start(ctx context.Context, stdout io.Writer, program string, args ...string) (*Process, error) {
	p := &Process{name: filepath.Base(program), done: make(chan struct{})}
	p.command = exec.CommandContext(ctx, program, args...) //nolint:gosec // the binaries to measure are whoever's who runs the benchmark
	p.terminate = sync.OnceValue(func() error { return p.command.Process.Signal(syscall.SIGTERM) })
	p.command.Cancel = p.terminate
	p.command.WaitDelay = stopTimeout
	p.command.Stderr = &p.log
	p.command.Stdout = io.MultiWriter(stdout, &p.log)
	killWithParent(p.command)
	if _, err := p.command.StdinPipe(); err != nil { // it stays open for as long as this process lives
		return nil, fmt.Errorf("creating the standard input of %s: %w", p.name, err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.command.Wait()
	}()
	return p, nil
}

// Running says whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop ends the process and waits for it. One that takes too long is killed.
func (p *Process) Stop() {
	_ = p.terminate() // it fails only when the process is gone
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		_ = p.command.Process.Kill() // it fails only when the process is gone
		<-p.done
	}
}

// exitError returns an error that says how the process has ended, with the end of its log.
func (p *Process) exitError() error {
	if p.err == nil {
		return fmt.Errorf("%s has ended: %s", p.name, &p.log)
	}
	return fmt.Errorf("%s has ended: %w: %s", p.name, p.err, &p.log)
}

// logTail keeps the end of what is written to it.
type logTail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer for a process.
func (t *logTail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data...)
	t.text = t.text[max(0, len(t.text)-maxLogBytes):]
	return len(data), nil
}

// String returns what is kept.
func (t *logTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
