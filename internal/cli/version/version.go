package version

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/version"
)

const versionLong = `Print the version of this plugin: the release, or the release that its commit leads to with the commit. json and yaml have it under
clientVersion, as kubectl version does.

With --with-hub it prints the versions of the manager, of the release that stored the definitions, and of the agents with how many clusters have each. It
warns where manager or definitions are more than one minor version apart from this plugin, or an agent from the manager.`

// options is the command line of `kubectl berth version`.
type options struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags
	output  command.OutputFlag
	hub     bool
}

// NewCommand returns the command `kubectl berth version`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin, and of what is on a hub",
		Long:  versionLong,
		Example: `  kubectl berth version
  kubectl berth version --with-hub
  kubectl berth version -o json | jq -r .clientVersion.gitVersion`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.output.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context())
		},
	}
	o.output.Add(cmd, "`form` of the version: json or yaml (default: a line)", "", "json", "yaml")
	cmd.Flags().BoolVar(&o.hub, "with-hub", false, "print the versions on the hub too")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *options) run(ctx context.Context) error {
	found := versions{ClientVersion: version.Get()}
	if o.hub {
		config, err := o.flags.RESTConfig(o.streams.ErrOut)
		if err != nil {
			return err
		}
		if err := found.readHub(ctx, config); err != nil {
			return err
		}
	}
	for _, skew := range found.skews() {
		printer.Printf(o.streams.ErrOut, "warning: %s: at most one minor version is supported\n", skew)
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form != "" {
			return printer.WriteData(w, o.output.Form, found)
		}
		printer.Printf(w, "kubectl-berth %s\n", version.String())
		if o.hub {
			printer.Printf(w, "manager %s\ndefinitions %s\nagents %s\n", found.ManagerVersion, found.DefinitionsVersion,
				describeAgents(found.AgentVersions))
		}
		return nil
	})
}
