package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/internal/membership/join"
	"github.com/berth-project/berth/internal/membership/registration"
)

const memberHelp = `member runs a small cluster in one process and joins it to a hub: etcd, the Kubernetes API
server, the controllers of workloads, a scheduler, fake nodes, and Berth's agent. Pods on
the fake nodes become ready and run nothing. It is for trying Berth and for tests.

"kubectl berth token create" on the hub prints the token and the hash. The member needs
them once: it keeps its certificate or its token in its data folder. Accept the cluster on the hub with
"kubectl berth accept".`

var (
	errNoMember = errors.New("name the member: --name edge-1")
	errNoToken  = errors.New("give --hub, --token and --ca-hash; kubectl berth token create prints them")
	errDriver   = errors.New("the driver must be csr or token")
	errOfHub    = errors.New("it has the data of a hub; choose another folder for the member")
	errNoRejoin = errors.New("the driver of a member changes with a join token only: give --hub, --token and --ca-hash too")
)

// memberFlags are the flags of the command.
type memberFlags struct {
	serveFlags

	name, hub, token, hash, driver string
	nodes                          int
	capacity, labels               map[string]string
	reportUsage                    bool
	usageInterval                  time.Duration
}

func memberCommand(wiring Config) *cobra.Command {
	flags := memberFlags{serveFlags: serveFlags{workloads: true, components: wiring.Components}}
	command := &cobra.Command{
		Use:   "member --name NAME --hub URL --token TOKEN --ca-hash HASH",
		Short: "A small cluster in one process that joins a hub",
		Long:  memberHelp,
		Example: `  # With the values of: kubectl berth token create --cluster edge-1
  berth-hub member --name edge-1 --hub https://127.0.0.1:6443 --token ... --ca-hash sha256:...

  # The hub signs no client certificates: kubectl berth token create --driver token
  berth-hub member --name edge-1 --driver token --hub https://127.0.0.1:6443 --token ... --ca-hash sha256:...

  # Later, with its certificate or token
  berth-hub member --name edge-1`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command, wiring) },
	}
	set := command.Flags()
	flags.addFlags(set)
	set.Lookup("data-dir").Usage = "`folder` that holds all the member keeps; empty: that of the hub with -NAME"
	set.StringVar(&flags.name, "name", "", "`name` of the cluster on the hub")
	set.StringVar(&flags.hub, "hub", "", "`URL` of the hub, as https://HOST:PORT")
	set.StringVar(&flags.token, "token", "", "join `token` of the cluster")
	set.StringVar(&flags.hash, "ca-hash", "", "`hash` of the public key of the hub's authority, as sha256:HEX")
	set.StringVar(&flags.driver, "driver", "", "how the agent authenticates, with a token: csr by a client certificate, token where the "+
		"hub signs none; empty: csr")
	set.IntVar(&flags.nodes, "nodes", 2, "number of fake nodes; those of an earlier start stay")
	set.StringToStringVar(&flags.capacity, "node-capacity", map[string]string{"cpu": "8", "memory": "32Gi", "pods": "110"},
		"`capacity` of each fake node")
	set.StringToStringVar(&flags.labels, "node-label", nil, "`labels` of each fake node, as key=value")
	set.BoolVar(&flags.reportUsage, "report-usage", false, "let the agent report how much of the member is free, as "+
		"scores by which placements rank")
	set.DurationVar(&flags.usageInterval, "usage-interval", time.Minute, "time between two such reports, from 5s to 1h")
	command.MarkFlagsRequiredTogether("hub", "token", "ca-hash")
	command.MarkFlagsMutuallyExclusive("data-dir", "ephemeral")
	return command
}

// run runs the member until it is stopped.
func (f *memberFlags) run(command *cobra.Command, wiring Config) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.dataDir == "" {
		f.dataDir = defaultDataDir() + "-" + f.name
	}
	f.title = "member " + f.name
	return f.serve(command, func(ctx context.Context) (hub.Options, error) {
		capacity, err := quantities(f.capacity)
		if err != nil {
			return hub.Options{}, err
		}
		if err := f.prepareAgent(ctx); err != nil {
			return hub.Options{}, err
		}
		driver, err := f.storedDriver()
		if err != nil {
			return hub.Options{}, err
		}
		opts := f.controlPlane(command)
		opts.Manifests = wiring.MemberManifests
		opts.Nodes = hub.FakeNodes{Count: f.nodes, Capacity: capacity, Labels: f.labels}
		opts.Agent = func(ctx context.Context, kubeconfig string) error {
			return wiring.Agent(ctx, Agent{
				Cluster: f.name, Dir: f.path(datadir.AgentFolder), Bootstrap: f.path(datadir.BootstrapFile), Kubeconfig: kubeconfig, Driver: driver,
				ReportUsage: f.reportUsage, UsageInterval: f.usageInterval,
			})
		}
		return opts, nil
	})
}

// validate returns the first fault of the flags.
func (f *memberFlags) validate() error {
	switch {
	case f.name == "":
		return errNoMember
	case f.driver != "" && f.driver != registration.DriverCSR && f.driver != registration.DriverToken:
		return fmt.Errorf("--driver %q: %w", f.driver, errDriver)
	case f.driver != "" && f.hub == "":
		return fmt.Errorf("--driver %s: %w", f.driver, errNoRejoin)
	}
	return nil
}

// storedDriver returns how the agent has joined. A folder of an earlier version records none: its agent has a certificate.
func (f *memberFlags) storedDriver() (string, error) {
	data, err := os.ReadFile(f.path(datadir.DriverFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return registration.DriverCSR, nil
	case err != nil:
		return "", fmt.Errorf("reading the driver of the agent: %w", err)
	}
	return string(data), nil
}

func (f *memberFlags) path(name string) string { return filepath.Join(f.dataDir, name) }

// prepareAgent stores the bootstrap kubeconfig of the agent. The hub is verified before. A member that has joined needs none.
func (f *memberFlags) prepareAgent(ctx context.Context) error {
	if f.hub == "" {
		if _, err := os.Stat(f.path(datadir.BootstrapFile)); err != nil {
			return fmt.Errorf("member %s has not joined from %s: %w", f.name, f.dataDir, errNoToken)
		}
		return nil
	}
	if datadir.IsHub(f.dataDir) {
		return fmt.Errorf("data folder %s: %w", f.dataDir, errOfHub)
	}
	endpoint, err := join.Verify(ctx, f.hub, f.hash)
	if err != nil {
		return err
	}
	bootstrap, err := join.BootstrapKubeconfig(endpoint, f.token)
	if err != nil {
		return err
	}
	dir, err := datadir.Open(f.dataDir) // a running member keeps its files
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := os.MkdirAll(dir.Path(datadir.AgentFolder), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the agent: %w", err)
	}
	for name, data := range map[string][]byte{
		datadir.DriverFile:    []byte(cmp.Or(f.driver, registration.DriverCSR)),
		datadir.BootstrapFile: bootstrap,
	} {
		if err := os.WriteFile(dir.Path(name), data, 0o600); err != nil {
			return fmt.Errorf("writing the file %s of the agent: %w", name, err)
		}
	}
	return nil
}

// quantities parses a list of resources.
func quantities(from map[string]string) (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for name, text := range from {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("reading --node-capacity: %s=%s: %w", name, text, err)
		}
		out[corev1.ResourceName(name)] = quantity
	}
	return out, nil
}
