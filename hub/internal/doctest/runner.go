package doctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-project/berth/internal/kube/process"
)

const (
	// retryInterval is between two attempts of a command.
	retryInterval = 300 * time.Millisecond
	// reactionTime is the pause after each command if each runs once, so that the hub can react.
	reactionTime = 2 * time.Second
	// startTimeout is how long the output of a background command may take, if each command runs once.
	startTimeout = 20 * time.Second
	// stopTimeout is how long a background command may take to end.
	stopTimeout = 30 * time.Second
	// longestLog is how many bytes of the log of a background command that has failed are reported.
	longestLog = 2000
)

// Options configures the commands of a page.
type Options struct {
	// Folder is the working folder.
	Folder string
	// Environment is as for exec.Cmd.
	Environment []string
	// Limit is how long a command is retried while its output differs from the page.
	Limit time.Duration
	// Once runs each command once, after a pause for the previous ones to take effect. It is for rewriting a page.
	Once bool
	// Hide is replaced in the output: a name that differs from run to run, and its replacement.
	Hide map[string]string
}

// Runner runs the commands of one page. Its methods are not safe for concurrent use.
type Runner struct {
	options    Options
	background []*background
}

// NewRunner returns a runner. Stop ends its background commands.
func NewRunner(options Options) *Runner { return &Runner{options: options} }

// Run runs every command of a page and returns the page with their output. Equal outputs stay as they are on the page.
func (r *Runner) Run(ctx context.Context, page string) (string, error) {
	var out strings.Builder
	for _, part := range Parse(page) {
		out.WriteString(part.Text)
		if part.Command == "" {
			continue
		}
		printed, err := r.run(ctx, part)
		if err != nil {
			return out.String(), err
		}
		if EqualOutput(printed, part.Printed) {
			printed = part.Printed
		}
		out.WriteString(printed)
	}
	return out.String(), nil
}

// run returns the output of a command: the first that equals the page, else the last.
func (r *Runner) run(ctx context.Context, part Part) (printed string, err error) {
	if line, ok := strings.CutSuffix(part.Command, " &"); ok {
		return r.start(ctx, line, part.Printed)
	}
	if folder, ok := strings.CutPrefix(part.Command, "cd "); ok {
		r.options.Folder = filepath.Join(r.options.Folder, folder)
		return "", nil
	}
	if assignment, ok := strings.CutPrefix(part.Command, "export "); ok {
		name, value, _ := strings.Cut(assignment, "=")
		printed, err := r.output(ctx, "printf %s "+value)
		r.options.Environment = append(r.options.Environment, name+"="+printed)
		return "", err
	}
	if r.options.Once {
		sleep(ctx, reactionTime)
	}
	err = wait.PollUntilContextTimeout(ctx, retryInterval, r.options.Limit, true, func(ctx context.Context) (bool, error) {
		got, err := r.output(ctx, part.Command)
		if ctx.Err() != nil { // the command was interrupted
			return false, err
		}
		err = errors.Join(err, r.failed())
		printed = r.hide(got)
		return r.options.Once || EqualOutput(printed, part.Printed), err
	})
	if wait.Interrupted(err) {
		err = nil
	}
	return printed, err
}

// failed returns an error if a background command has ended by itself with an error: what follows on the page is of no use without it.
func (r *Runner) failed() error {
	for _, b := range r.background {
		select {
		case <-b.ended:
			if b.err != nil {
				return r.hasEnded(b)
			}
		default:
		}
	}
	return nil
}

// hasEnded returns the error of a background command that has ended, with what it printed, or wrote to the file that its line names.
func (r *Runner) hasEnded(b *background) error {
	printed := b.text()
	if _, name, ok := strings.Cut(b.line, "> "); ok {
		data, err := os.ReadFile(filepath.Join(r.options.Folder, name))
		if err != nil {
			return fmt.Errorf("%s has ended: %w: %s: %w", b.line, b.err, printed, err)
		}
		printed += string(data)
	}
	return fmt.Errorf("%s has ended: %w: %s", b.line, b.err, printed[max(0, len(printed)-longestLog):])
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, long time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	<-ctx.Done()
}

// output returns the standard output and error of a command. It returns an error only if the command cannot run.
func (r *Runner) output(ctx context.Context, line string) (string, error) {
	command := r.command(ctx, line)
	printed, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return "", fmt.Errorf("running %s: %w", line, err)
	}
	return string(printed), nil
}

func (r *Runner) hide(text string) string {
	for name, as := range r.options.Hide {
		text = strings.ReplaceAll(text, name, as)
	}
	return text
}

func (r *Runner) command(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "bash", "-c", line) //nolint:gosec // pages are of this repository
	command.Dir, command.Env = r.options.Folder, r.options.Environment
	return command
}

// background is a command in the background.
type background struct {
	line    string
	process *os.Process
	ended   chan struct{}
	err     error // set before ended closes

	mu      sync.Mutex
	printed bytes.Buffer
}

// Write stores the output of the command.
func (b *background) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.printed.Write(data)
}

func (b *background) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.printed.String()
}

// start starts a background command and returns its output once it equals the page or the limit has passed.
func (r *Runner) start(ctx context.Context, line, want string) (string, error) {
	command := r.command(context.WithoutCancel(ctx), "exec "+line)
	process.TerminateWithParent(command)
	b := &background{line: line, ended: make(chan struct{})}
	command.Stdout, command.Stderr = b, b
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("starting %s: %w", line, err)
	}
	b.process = command.Process
	go func() {
		b.err = command.Wait()
		close(b.ended)
	}()
	r.background = append(r.background, b)
	limit := r.options.Limit
	if r.options.Once {
		limit = startTimeout
	}
	err := wait.PollUntilContextTimeout(ctx, retryInterval, limit, false, func(context.Context) (bool, error) {
		select {
		case <-b.ended:
			return false, r.hasEnded(b)
		default:
			return !r.options.Once && EqualOutput(r.hide(b.text()), want), nil
		}
	})
	if wait.Interrupted(err) {
		err = nil
	}
	return r.hide(b.text()), err
}

// Stop interrupts the background commands, the latest first, and waits for their end.
func (r *Runner) Stop(ctx context.Context) error {
	var errs []error
	for _, b := range slices.Backward(r.background) {
		errs = append(errs, b.stop(ctx))
	}
	r.background = nil
	return errors.Join(errs...)
}

func (b *background) stop(ctx context.Context) error {
	if err := b.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", b.line, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	select {
	case <-b.ended: // an interrupted command ends with an error
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stopping %s: still running after %s, so it was killed", b.line, stopTimeout), b.process.Kill())
	}
}
