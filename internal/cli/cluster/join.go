package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

const joinLong = `Join a cluster, the member, to a hub. "kubectl berth token create" on the hub prints the command line.

The kubeconfig is that of the member. With --image the agent is installed in the member as a Deployment. Without it the agent
runs here, beside the member, until it is interrupted: the program berth-agent must be in the PATH or beside this program. It
keeps its certificate in --dir, so that the same command goes on after a restart.

An installed agent delivers works with the permissions of --profile:
  bound  it writes only as the service accounts that the Role berth:agent-executors names, default/deployer at first, and
         only for works that name one as their executor. The RBAC of the member decides what each account may do.
  admin  it is cluster-admin: whoever may write works for this cluster on the hub is an administrator of the member.

The hub is verified by --ca-hash or --ca-file before the token is sent.`

const joinExamples = `  # Install the agent in the member of the current context
  kubectl berth join --hub https://hub.example:6443 --cluster edge-1 --ca-hash sha256:... --token ... --image REGISTRY/berth-agent

  # Install it with all permissions, for works that name no executor
  kubectl berth join --hub https://hub.example:6443 --cluster edge-1 --ca-hash sha256:... --token ... --image REGISTRY/berth-agent --profile admin

  # Install it, and let it report how much of the member is free, as scores for placements
  kubectl berth join --hub https://hub.example:6443 --cluster edge-1 --ca-hash sha256:... --token ... --image REGISTRY/berth-agent --report-usage

  # Run the agent beside a member
  kubectl berth join --hub https://hub.example:6443 --cluster edge-1 --ca-hash sha256:... --token ... --kubeconfig edge-1.kubeconfig`

// joinOptions is the command line of `kubectl berth join`.
type joinOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	hub, cluster, token, hash, caFile, driver, image, profile, dir string
	agentFlags                                                     []string
	reportUsage                                                    bool
}

// NewJoin returns the command `kubectl berth join`.
func NewJoin(streams genericiooptions.IOStreams) *cobra.Command {
	o := &joinOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use:     "join --hub URL --cluster NAME --token TOKEN --ca-hash HASH [flags] [-- AGENT FLAGS]",
		Short:   "Join a cluster to a hub",
		Long:    joinLong,
		Example: joinExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.agentFlags = args
			if err := o.check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&o.hub, "hub", "", "`URL` of the hub, as https://HOST:PORT")
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "`name` of the cluster on the hub")
	cmd.Flags().StringVar(&o.token, "token", "", "join `token` of the cluster")
	cmd.Flags().StringVar(&o.hash, "ca-hash", "", "`hash` of the public key of the hub's authority, as sha256:HEX")
	cmd.Flags().StringVar(&o.caFile, "ca-file", "", "`file` with the hub's authority, instead of --ca-hash")
	cmd.Flags().StringVar(&o.driver, "driver", registration.DriverCSR,
		"`how` the agent authenticates: csr or token, as the join token was created")
	cmd.Flags().StringVar(&o.image, "image", "", "container `image` of the agent; empty: run the agent here")
	cmd.Flags().StringVar(&o.profile, "profile", join.ProfileBound, "`what` an installed agent may do for works: bound or admin")
	cmd.Flags().StringVar(&o.dir, "dir", "",
		"`folder` for the agent's certificate when it runs here (default: berth/agents/NAME in your configuration folder)")
	cmd.Flags().BoolVar(&o.reportUsage, "report-usage", false,
		"let the agent report how much CPU, memory, GPUs and pods of the member are free, as scores by which placements rank")
	command.AddHubFlags(cmd, o.flags, "cluster")
	completion.Register(cmd, "driver", completion.Outputs([]string{registration.DriverCSR, registration.DriverToken}))
	completion.Register(cmd, "profile", completion.Outputs([]string{join.ProfileBound, join.ProfileAdmin}))
	return cmd
}

// check returns the first fault of the command line.
func (o *joinOptions) check() error {
	switch {
	case o.hub == "" || o.cluster == "" || o.token == "":
		return errors.New("name the hub, the cluster and the token: --hub URL --cluster NAME --token TOKEN; kubectl berth token create " +
			"prints them")
	case o.driver != registration.DriverCSR && o.driver != registration.DriverToken:
		return fmt.Errorf("--driver %q: must be csr or token", o.driver)
	case o.profile != join.ProfileBound && o.profile != join.ProfileAdmin:
		return fmt.Errorf("--profile %q: must be bound or admin", o.profile)
	case o.image == "" && o.profile != join.ProfileBound:
		return errors.New("--profile is for an agent that is installed with --image; an agent that runs here has the permissions of the " +
			"kubeconfig")
	case (o.hash == "") == (o.caFile == ""):
		return errors.New("give --ca-hash or --ca-file, so that the token is sent to your hub only")
	case o.image != "" && (o.dir != "" || len(o.agentFlags) > 0):
		return errors.New("--dir and flags of the agent are for an agent that runs here, without --image")
	}
	return nil
}

func (o *joinOptions) run(ctx context.Context) error {
	bootstrap, err := o.bootstrap(ctx)
	if err != nil {
		return err
	}
	if o.image == "" {
		return o.runAgent(ctx, bootstrap)
	}
	member, err := o.flags.RESTConfig(o.streams.ErrOut)
	if err != nil {
		return err
	}
	agent := join.Agent{
		Cluster: o.cluster, Driver: o.driver, Image: o.image, Bootstrap: bootstrap, Profile: o.profile,
		ReportUsage: o.reportUsage,
	}
	if err := agent.Install(ctx, member); err != nil {
		return err
	}
	printer.Printf(o.streams.Out, "The agent of %s is installed in the namespace %s. Accept the cluster on the hub: kubectl berth accept %s\n",
		o.cluster, join.AgentNamespace, o.cluster)
	return nil
}

// bootstrap returns the bootstrap kubeconfig for the verified hub. An agent that has joined runs on with its own, where the hub
// cannot be verified: it is down, or has another authority since then, which the agent follows.
func (o *joinOptions) bootstrap(ctx context.Context) ([]byte, error) {
	hub, err := o.endpoint(ctx)
	if err == nil {
		return join.BootstrapKubeconfig(hub, o.token)
	}
	if o.image != "" {
		return nil, err
	}
	dir, failed := o.folder()
	if failed != nil {
		return nil, failed
	}
	stored, ok := join.StoredBootstrap(dir, o.hub)
	if !ok {
		return nil, err
	}
	printer.Printf(o.streams.ErrOut, "The agent uses the files in %s, because the hub was not verified: %v\n", dir, err)
	return stored, nil
}

// endpoint returns the verified hub.
func (o *joinOptions) endpoint(ctx context.Context) (join.Endpoint, error) {
	if o.caFile == "" {
		return join.Verify(ctx, o.hub, o.hash)
	}
	authority, err := os.ReadFile(o.caFile)
	if err != nil {
		return join.Endpoint{}, fmt.Errorf("reading the authority of the hub: %w", err)
	}
	return join.Endpoint{URL: o.hub, Authority: authority}, nil
}
