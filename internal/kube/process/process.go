// Package process runs a hub or a manager as a child process, for benchmarks and tests.
//
// It owns the start, the stop and the output of the process, and does not depend on what the program does. The invariant: a
// child process ends with its parent, also when the parent is killed. The operating system then closes the standard input of
// the child and, on Linux, terminates it.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long Stop waits before it kills the process.
const stopTimeout = 30 * time.Second

// Process is a child process. It runs until it ends by itself, or until Stop or Kill.
type Process struct {
	name      string
	command   *exec.Cmd
	stdin     io.Closer
	output    *Output
	terminate func()
	done      chan struct{}
	err       error // set before done closes
}

// Start starts a program. Its standard output and its standard error go to output. The end of ctx does not stop it.
func Start(ctx context.Context, output *Output, program string, args ...string) (*Process, error) {
	p := &Process{name: filepath.Base(program), output: output, done: make(chan struct{})}
	p.command = exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // the caller chooses the program
	p.command.Stdout, p.command.Stderr = output, output
	// A second signal would end berth-hub without an orderly stop.
	p.terminate = sync.OnceFunc(func() { _ = p.command.Process.Signal(syscall.SIGTERM) }) // it fails only after the end
	TerminateWithParent(p.command)
	stdin, err := p.command.StdinPipe() // it stays open while this process lives
	if err != nil {
		return nil, fmt.Errorf("creating the standard input of %s: %w", p.name, err)
	}
	p.stdin = stdin
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.command.Wait()
	}()
	return p, nil
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Output returns the output of the process.
func (p *Process) Output() *Output { return p.output }

// Done closes when the process has ended. Its output is complete then.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running returns whether the process still runs.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the process, which must be running.
func (p *Process) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// CloseInput closes the standard input of the process, as the end of this process would.
func (p *Process) CloseInput() { _ = p.stdin.Close() } // it fails only after the end

// Kill kills the process and waits for its end.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it fails only after the end
	<-p.done
}

// Stop terminates the process and waits for its end. It kills a process that takes too long, and returns false then.
func (p *Process) Stop() (inTime bool) {
	p.terminate()
	limit := time.NewTimer(stopTimeout) //nolint:forbidigo // it waits for a real process
	defer limit.Stop()
	select {
	case <-p.done:
		return true
	case <-limit.C:
		p.Kill()
		return false
	}
}

// Err waits for the end of the process and returns its error.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ExitCode waits for the end of the process and returns its exit code.
func (p *Process) ExitCode() int {
	<-p.done
	return p.command.ProcessState.ExitCode()
}

// ExitError waits for the end of the process and returns an error with the reason and the output.
func (p *Process) ExitError() error {
	if err := p.Err(); err != nil {
		return fmt.Errorf("%s has ended: %w: %s", p.name, err, p.output)
	}
	return fmt.Errorf("%s has ended: %s", p.name, p.output)
}
