package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/addons"
	"github.com/berth-project/berth/internal/cli/argo"
	"github.com/berth-project/berth/internal/cli/cluster"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/decided"
	"github.com/berth-project/berth/internal/cli/describe"
	"github.com/berth-project/berth/internal/cli/diff"
	"github.com/berth-project/berth/internal/cli/explain"
	"github.com/berth-project/berth/internal/cli/gather"
	"github.com/berth-project/berth/internal/cli/get"
	"github.com/berth-project/berth/internal/cli/holds"
	"github.com/berth-project/berth/internal/cli/install"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollout"
	"github.com/berth-project/berth/internal/cli/runner"
	"github.com/berth-project/berth/internal/cli/simulate"
	"github.com/berth-project/berth/internal/cli/tree"
	"github.com/berth-project/berth/internal/cli/version"
	"github.com/berth-project/berth/internal/cli/web"
)

// The exit codes of every command.
const (
	ExitOK          = command.ExitOK
	ExitUnsatisfied = command.ExitUnsatisfied
	ExitRefused     = command.ExitRefused
)

// Main is Run with the clock of the machine.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	return Run(ctx, args, streams, clock.RealClock{})
}

// Run runs the command line and returns the exit code.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, clock clock.PassiveClock) int {
	root := NewRoot(streams, clock) //nolint:contextcheck // a command takes the context that it is executed with
	return command.Run(ctx, root, args, streams)
}

// NewRoot returns the command `kubectl berth` with every command below it.
func NewRoot(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	streams = printer.SanitizeStreams(streams)
	return command.NewRoot(streams,
		get.NewCommand(streams, clock),
		describe.NewCommand(streams, clock),
		tree.NewCommand(streams, clock),
		rollout.NewCommand(streams, clock),
		holds.NewCommand(streams, clock),
		explain.NewCommand(streams, clock),
		explain.NewHistory(streams, clock),
		decided.NewCommand(streams, clock),
		addons.NewCommand(streams, clock),
		argo.NewCommand(streams),
		diff.NewCommand(streams, clock),
		simulate.NewCommand(streams, clock),
		runner.NewCommand(streams),
		web.NewCommand(streams, clock),
		cluster.NewToken(streams),
		cluster.NewJoin(streams),
		cluster.NewAccept(streams),
		cluster.NewDeny(streams),
		cluster.NewUnjoin(streams),
		cluster.NewRevoke(streams),
		cluster.NewClusters(streams),
		install.NewPreflight(streams, clock),
		gather.NewCommand(streams, clock),
		install.NewMigrate(streams),
		install.NewTakeover(streams, clock),
		install.NewUninstall(streams, clock),
		newCompletion(streams),
		version.NewCommand(streams),
	)
}
