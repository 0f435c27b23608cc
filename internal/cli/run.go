package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/source/file"
)

// The exit codes of every command.
const (
	// ExitOK is success.
	ExitOK = 0
	// ExitUnsatisfied is a failed check that the command line requested.
	ExitUnsatisfied = 1
	// ExitRefused is a wrong or unreadable input or command line.
	ExitRefused = 2
)

// unsatisfiedError lists the placements that are not satisfied.
type unsatisfiedError []string

func (e unsatisfiedError) Error() string {
	return printer.Count(len(e), "placement") + " not satisfied:\n" + printer.Indent(strings.Join(e, "\n"))
}

// Main is Run with the clock of the machine.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	return Run(ctx, args, streams, clock.RealClock{})
}

// Run runs the command line and returns the exit code.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, clock clock.PassiveClock) (code int) {
	streams = printer.SanitizeStreams(streams)
	defer func() {
		if broken := recover(); broken != nil {
			fmt.Fprintf(streams.ErrOut, "error: Berth failed with an internal error; please report it with the input and the following text: %v\n\n%s",
				broken, debug.Stack())
			code = ExitRefused
		}
	}()
	root := NewRoot(streams, clock) //nolint:contextcheck // a command takes the context that it is executed with
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx), streams)
}

// exitCode prints an error and returns its exit code. A closed pipe is no error: the reader has what it wanted.
func exitCode(err error, streams genericiooptions.IOStreams) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return ExitOK
	}
	if errors.Is(err, decisionsChangedError{}) || errors.Is(err, hubNotReadyError{}) {
		return ExitUnsatisfied
	}
	if still, ok := errors.AsType[rolloutStandsStillError](err); ok {
		fmt.Fprintf(streams.ErrOut, "%s\n", escape.Lines(still.Error()))
		return ExitUnsatisfied
	}
	if incomplete, ok := errors.AsType[incompleteDecisionError](err); ok {
		fmt.Fprintf(streams.ErrOut, "%s\n", escape.Lines(incomplete.Error()))
		return ExitUnsatisfied
	}
	if unsatisfied, ok := errors.AsType[unsatisfiedError](err); ok {
		fmt.Fprintf(streams.ErrOut, "%s\n", escape.Lines(unsatisfied.Error()))
		return ExitUnsatisfied
	}
	if failed, ok := errors.AsType[scenariosFailedError](err); ok {
		fmt.Fprintf(streams.ErrOut, "%s\n", escape.Lines(failed.Error()))
		return ExitUnsatisfied
	}
	if faults, ok := errors.AsType[file.FaultsError](err); ok {
		fmt.Fprintf(streams.ErrOut, "error: %s in the input:\n%s\n", printer.Count(len(faults), "fault"), printer.Indent(escape.Lines(faults.Error())))
		return ExitRefused
	}
	fmt.Fprintf(streams.ErrOut, "error: %s\n", escape.Lines(err.Error()))
	return ExitRefused
}
