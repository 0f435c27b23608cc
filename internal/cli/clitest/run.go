package clitest

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/golden"
	"github.com/berth-project/berth/internal/cli/printer"
)

// Result is what a command line did.
type Result struct {
	Code        int
	Out, ErrOut string
}

// NewCommand makes a command.
type NewCommand func(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command

// WithoutClock makes a command that needs no clock.
func WithoutClock(of func(streams genericiooptions.IOStreams) *cobra.Command) NewCommand {
	return func(streams genericiooptions.IOStreams, _ clock.PassiveClock) *cobra.Command { return of(streams) }
}

// Now returns the instant at which every command runs.
func Now() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }

// Clock returns a clock that stands still.
func Clock() clock.PassiveClock { return clocktesting.NewFakePassiveClock(Now()) }

// Run runs a command line of `kubectl berth` that has some of its commands.
func Run(t testing.TB, stdin string, args []string, commands ...NewCommand) Result {
	t.Helper()
	return Capture(stdin, func(streams genericiooptions.IOStreams) int {
		streams = printer.SanitizeStreams(streams)
		var below []*cobra.Command
		for _, of := range commands {
			below = append(below, of(streams, Clock()))
		}
		return command.Run(t.Context(), command.NewRoot(streams, below...), args, streams)
	})
}

// Capture returns what a run wrote, and its exit code.
func Capture(stdin string, run func(streams genericiooptions.IOStreams) int) Result {
	var out, errOut bytes.Buffer
	code := run(genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut})
	return Result{code, out.String(), errOut.String()}
}

// Golden compares an output with a file in the folder testdata/golden of the package under test.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", "golden", name), got)
}
