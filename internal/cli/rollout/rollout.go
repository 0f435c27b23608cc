package rollout

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
)

// NewCommand returns the command `kubectl berth rollout`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	return command.NewGroup("rollout", "Plan how a change comes to clusters, and watch and steer it",
		newPlan(streams, clock), newStatus(streams, clock), newPause(streams), newResume(streams),
		newApprove(streams, clock), newForgive(streams), newHistory(streams), newUndo(streams, clock))
}
