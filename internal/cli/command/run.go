package command

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
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
	// ExitWaits is something that waits for a person.
	ExitWaits = 3
)

// UnsatisfiedError is a failed check that the command line requested. It sets exit code 1. Its text is printed; without one the result of
// the command shows what failed.
type UnsatisfiedError struct {
	Text string
	// Waits means that a person has to decide first. It sets exit code 3.
	Waits bool
}

func (e UnsatisfiedError) Error() string { return e.Text }

// Run runs a command line with the root command and returns the exit code. It prints an error, and the stack of a panic.
func Run(ctx context.Context, root *cobra.Command, args []string, streams genericiooptions.IOStreams) (code int) {
	streams = printer.SanitizeStreams(streams)
	defer func() {
		if broken := recover(); broken != nil {
			fmt.Fprintf(streams.ErrOut, "error: Berth failed with an internal error; "+
				"please report it with the input and the following text: %v\n\n%s", broken, debug.Stack())
			code = ExitRefused
		}
	}()
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx), streams)
}

// exitCode prints an error and returns its exit code. A closed pipe is no error: the reader has what it wanted.
func exitCode(err error, streams genericiooptions.IOStreams) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return ExitOK
	}
	if unsatisfied, ok := errors.AsType[UnsatisfiedError](err); ok {
		if unsatisfied.Text != "" {
			fmt.Fprintf(streams.ErrOut, "%s\n", escape.Lines(unsatisfied.Text))
		}
		if unsatisfied.Waits {
			return ExitWaits
		}
		return ExitUnsatisfied
	}
	if faults, ok := errors.AsType[file.FaultsError](err); ok {
		fmt.Fprintf(streams.ErrOut, "error: %s in the input:\n%s\n",
			phrase.Count(len(faults), "fault"), printer.Indent(escape.Lines(faults.Error())))
		return ExitRefused
	}
	fmt.Fprintf(streams.ErrOut, "error: %s\n", escape.Lines(err.Error()))
	return ExitRefused
}
