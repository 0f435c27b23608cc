package argo

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
)

// NewCommand returns the command `kubectl berth argo`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return command.NewGroup("argo", "Let Argo CD follow decisions, and check what it lacks",
		newArgoSetup(streams), newArgoCheck(streams), newArgoLabels(streams))
}
