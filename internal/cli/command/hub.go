package command

import (
	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/reader"
)

// AddHubFlags adds the flags for a hub to a command, with their completion and that of the flags which take the name of a cluster.
func AddHubFlags(to *cobra.Command, flags *reader.HubFlags, ofClusters ...string) {
	flags.Add(to.Flags())
	completion.Of(flags).HubFlags(to, ofClusters...)
}

// AddFleetFlags adds the flags for a fleet, of a hub or of files, to a command, with the completion that AddHubFlags adds.
func AddFleetFlags(to *cobra.Command, fleet *reader.Fleet, ofClusters ...string) {
	fleet.AddFlags(to.Flags())
	completion.Of(fleet.HubFlags).HubFlags(to, ofClusters...)
}
