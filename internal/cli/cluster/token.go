package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

const tokenLong = `Create a join token: the right of one agent to request the first certificate of one cluster.

The ManagedCluster is created if it does not exist, and waits to be accepted. The token may read that ManagedCluster, create
certificate requests and read a request by its name. It is of no use for any other cluster. Once the cluster has joined, no
further request with the token is approved, and the hub ends it a few minutes later. With --rejoin, all former join tokens of
the cluster end at once, which needs the permission to delete service accounts in the namespace berth-join.

Prints the command that joins the cluster. It has the hash of the hub's authority, or the authority itself where the hub does not
present it, so that the token is sent to this hub only.`

//nolint:gosec // the examples have no token
const tokenExamples = `  # Let cluster edge-1 join the set edge within a day
  kubectl berth token create --cluster edge-1 --set edge

  # The hub signs no client certificates: the agent uses a token
  kubectl berth token create --cluster edge-1 --driver token

  # The certificate of edge-1 has expired: let it join again
  kubectl berth token create --cluster edge-1 --rejoin --ttl 1h`

// tokenOptions is the command line of `kubectl berth token create`.
type tokenOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	token  join.Token
	url    string
	output command.OutputFlag
}

// NewToken returns the command `kubectl berth token`.
func NewToken(streams genericiooptions.IOStreams) *cobra.Command {
	return command.NewGroup("token", "Create tokens with which clusters join", newTokenCreate(streams))
}

func newTokenCreate(streams genericiooptions.IOStreams) *cobra.Command {
	o := &tokenOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use:     "create --cluster NAME [flags]",
		Short:   "Create a join token for one cluster",
		Long:    tokenLong,
		Example: tokenExamples,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.token.Validate(), o.output.Check()); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context())
		},
		DisableFlagsInUseLine: true,
	}
	// pflag keeps the first flag of a name, so this one replaces kubectl's --cluster, an entry of the kubeconfig.
	cmd.Flags().StringVar(&o.token.Cluster, "cluster", "", "`name` of the cluster, which is also its namespace on the hub")
	cmd.Flags().StringVar(&o.token.Set, "set", "", "`name` of the ManagedClusterSet of a new cluster (default: the set default)")
	cmd.Flags().StringToStringVar(&o.token.Labels, "label", nil, "`labels` of a new cluster, as key=value")
	cmd.Flags().StringVar(&o.token.Driver, "driver", "",
		"`how` the agent authenticates: csr by a client certificate, token on a hub that signs none (default: as before, and csr)")
	cmd.Flags().DurationVar(&o.token.TTL, "ttl", 24*time.Hour, "how `long` the token is valid, from 10m to 168h")
	cmd.Flags().BoolVar(&o.token.Rejoin, "rejoin", false, "let a cluster that has joined before join again")
	cmd.Flags().StringVar(&o.url, "hub-url", "",
		"`URL` of the hub for the agent (default: the URL that the hub publishes, or that of your kubeconfig)")
	o.output.Add(cmd, "`form` of the output: command, token or kubeconfig", "command", "token", "kubeconfig")
	command.AddHubFlags(cmd, o.flags, "cluster")
	completion.Register(cmd, "driver", completion.Outputs([]string{registration.DriverCSR, registration.DriverToken}))
	completion.Register(cmd, "set", completion.Of(o.flags).All(reader.SetKind()))
	return cmd
}

func (o *tokenOptions) run(ctx context.Context) error {
	config, err := o.flags.RESTConfig(o.streams.ErrOut)
	if err != nil {
		return err
	}
	hub, err := join.NewClient(config)
	if err != nil {
		return err
	}
	endpoint, err := join.FindEndpoint(ctx, hub, config)
	if err != nil {
		return err
	}
	if o.url != "" {
		endpoint.URL = o.url
	}
	var verify verification
	if o.output.Form == "command" {
		if verify, err = newVerification(ctx, endpoint); err != nil {
			return err
		}
	}
	token, driver, err := o.token.Create(ctx, hub)
	if err != nil {
		return err
	}
	if driver != registration.DriverCSR {
		verify.flag += " --driver " + driver
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return o.print(w, endpoint, verify, token) })
}

// print writes the token in the requested form.
func (o *tokenOptions) print(w io.Writer, hub join.Endpoint, verify verification, token string) error {
	switch o.output.Form {
	case "token":
		_, err := fmt.Fprintln(w, token)
		return err
	case "kubeconfig":
		text, err := join.BootstrapKubeconfig(hub, token)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	_, err := fmt.Fprintf(w, "%skubectl berth join --hub %s --cluster %s \\\n  %s \\\n  --token %s\n", verify.before, hub.URL, o.token.Cluster,
		verify.flag, token)
	return err
}

// verification is how the join command verifies the hub: a flag, and the commands before that it needs.
type verification struct{ before, flag string }

// newVerification verifies the hub by the hash of its authority where the hub presents that in the handshake, else by a file.
func newVerification(ctx context.Context, hub join.Endpoint) (verification, error) {
	hash, err := hub.Hash()
	if err != nil {
		return verification{}, fmt.Errorf("%w; use a kubeconfig with certificate-authority-data", err)
	}
	if _, err := join.Verify(ctx, hub.URL, hash); err == nil {
		return verification{flag: "--ca-hash " + hash}, nil
	}
	const file = "hub-ca.crt"
	text := strings.TrimRight(string(hub.Authority), "\n")
	return verification{before: "cat > " + file + " <<'END'\n" + text + "\nEND\n", flag: "--ca-file " + file}, nil
}
