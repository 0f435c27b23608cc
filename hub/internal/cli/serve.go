package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/encryption"
	"github.com/berth-project/berth/hub/internal/export"
	"github.com/berth-project/berth/internal/kube/version"
)

const verboseLevel = 2

const serveHelp = `berth-hub runs a whole hub in one process: etcd, the Kubernetes API server, the
controllers that a control plane without nodes needs, and Berth's manager.

It listens on 127.0.0.1 unless --listen names another address, and keeps everything in
its data folder, so that it can be stopped and started again. It runs until it is
interrupted. It signs the certificates of agents whose requests are approved.

Every flag of "berth manager" is accepted too. Where the hub gives its manager another
default, the flag says so.`

// serveFlags are the flags of the command.
type serveFlags struct {
	dataDir   string
	listen    string
	advertise string
	sans      []string
	port      int
	etcdPort  int
	noManager bool
	manifests string
	ephemeral bool
	noFsync   bool
	verbose   bool
	withStdin bool
	workloads bool
	unsigned  bool
	quota     byteCount
	minFree   byteCount
	encrypt   []string
	// title is what runs; empty is a hub.
	title string
	// components run the parts of Kubernetes; nil are those that this process links.
	components hub.Components
}

func serveCommand(wiring Config) *cobra.Command {
	flags := serveFlags{dataDir: defaultDataDir(), components: wiring.Components}
	command := &cobra.Command{
		Use:   "berth-hub",
		Short: "A whole hub in one process",
		Long:  serveHelp,
		Args:  cobra.NoArgs,
		// With the flag below, cobra prints it; Kubernetes' own flag would be ignored.
		Version: version.Version(),
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.serve(command, func(ctx context.Context) (hub.Options, error) { return flags.options(ctx, command, wiring) })
		},
	}
	set := command.Flags()
	flags.addFlags(set)
	set.BoolVar(&flags.noManager, "no-manager", false, "run the control plane without Berth's manager")
	set.BoolVar(&flags.unsigned, "no-agent-certificates", false,
		"sign no client certificates of agents, as some managed API servers; agents then join by tokens")
	set.StringVar(&flags.manifests, "manifests", "", "folder with YAML files to apply at the start, after Berth's own, those of new clusters "+
		"and scores with their status")
	set.Bool("version", false, "print the hub's version")
	if wiring.ManagerFlags != nil {
		wiring.ManagerFlags(set)
	}
	command.MarkFlagsMutuallyExclusive("data-dir", "ephemeral")
	return command
}

// addFlags adds the flags of every control plane.
func (f *serveFlags) addFlags(set *pflag.FlagSet) {
	set.StringVar(&f.dataDir, "data-dir", f.dataDir, "folder that holds all the hub keeps; also set by "+dataDirVariable)
	set.StringVar(&f.listen, "listen", "127.0.0.1", "IP `address` of the API server; 0.0.0.0 is every address of the machine, which "+
		"agents on other machines need")
	set.StringVar(&f.advertise, "advertise-url", "", "`URL` of the API server for agents, as https://HOST:PORT; "+
		"empty: the address of --listen")
	set.StringSliceVar(&f.sans, "san", nil, "further DNS `names` and IP addresses in the certificate of the API server; may be repeated")
	set.IntVar(&f.port, "port", 0, "port of the API server; 0 is the port of the last start, and at the first start a free one")
	set.IntVar(&f.etcdPort, "etcd-port", 0, "port of etcd on 127.0.0.1; 0 takes a free one")
	set.BoolVar(&f.workloads, "workloads", f.workloads, "run the controllers of workloads and nodes, and a scheduler")
	set.BoolVar(&f.ephemeral, "ephemeral", false, "use a temporary data folder and remove it at the end")
	set.StringSliceVar(&f.encrypt, "encrypt", []string{encryption.Secrets},
		"`what` is encrypted at rest, with a key in the data folder: secrets, works; empty: nothing")
	f.quota = byteCount{text: "8Gi", bytes: hub.DefaultDatabaseQuota, lowest: minQuota, highest: maxQuota}
	set.Var(&f.quota, "database-quota", "size of the database file beyond which the hub is read-only; 16Mi to 8Gi")
	f.minFree = byteCount{text: "256Mi", bytes: hub.DefaultMinFreeDisk, lowest: minFreeDisk, highest: maxFreeDisk}
	set.Var(&f.minFree, "min-free-disk", "free space of the disk below which the hub is read-only")
	set.BoolVar(&f.noFsync, "unsafe-no-fsync", false, "write faster, and lose data in a power cut")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "log more, and to standard error too")
	set.BoolVar(&f.withStdin, "stop-with-stdin", false, "stop when standard input ends")
}

// serve runs the control plane of the options until a signal, a failure, or the end of standard input if
// the flag for it is set. A second signal ends the process at once.
func (f *serveFlags) serve(command *cobra.Command, prepare func(ctx context.Context) (hub.Options, error)) error {
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if f.withStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, command.InOrStdin()) // only its end matters
			cancel()
		}()
	}
	if f.ephemeral {
		dir, err := os.MkdirTemp("", "berth-hub-")
		if err != nil {
			return fmt.Errorf("creating a temporary data folder: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // best effort on the way out
		f.dataDir = dir
	}
	options, err := prepare(ctx)
	if err != nil {
		return err
	}
	running, err := hub.Start(ctx, options)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting, as requested
		}
		return err
	}
	if err := announceMove(ctx, command.OutOrStdout(), running); err != nil {
		return err
	}
	if err := announce(command.OutOrStdout(), cmp.Or(f.title, hubTitle), running); err != nil {
		return err
	}
	return running.Wait()
}

func (f *serveFlags) options(ctx context.Context, command *cobra.Command, wiring Config) (hub.Options, error) {
	if err := requireNoMember(f.dataDir); err != nil {
		return hub.Options{}, err
	}
	opts := f.controlPlane(command)
	opts.ManagerIdentity = hub.Identity{User: wiring.ManagerUser, Groups: wiring.ManagerGroups}
	opts.Manifests = slices.Clone(wiring.Manifests)
	if wiring.Manager != nil && !f.noManager {
		manager, err := wiring.Manager(ctx)
		if err != nil {
			return hub.Options{}, err
		}
		opts.Manager, opts.ManagerReady = manager.Run, manager.Ready
		opts.Manifests = append(opts.Manifests, manager.Manifests...)
	}
	if f.manifests != "" {
		opts.Objects = append(opts.Objects, os.DirFS(f.manifests))
	}
	return opts, nil
}

// requireNoMember returns an error for the folder of a member: a hub would run its manager there.
func requireNoMember(dataDir string) error {
	if !datadir.IsMember(dataDir) {
		return nil
	}
	name, err := datadir.MemberName(dataDir)
	if err != nil {
		return err
	}
	return fmt.Errorf("data folder %s is that of a member; start it with: %s", dataDir, memberStart(name, dataDir))
}

// memberStart returns the command that starts a member from its folder.
func memberStart(name, dataDir string) string {
	return fmt.Sprintf("berth-hub member --name %s --data-dir %s", cmp.Or(name, "NAME"), dataDir)
}

// controlPlane returns the options of any control plane.
func (f *serveFlags) controlPlane(command *cobra.Command) hub.Options {
	opts := hub.Options{
		DataDir:             f.dataDir,
		Listen:              f.listen,
		AdvertiseURL:        f.advertise,
		SANs:                f.sans,
		Port:                f.port,
		EtcdPort:            f.etcdPort,
		Workloads:           f.workloads,
		NoAgentCertificates: f.unsigned,
		Encrypt:             f.encrypt,
		Components:          f.components,
		DatabaseQuota:       f.quota.bytes,
		MinFreeDisk:         f.minFree.bytes,
		NoFsync:             f.noFsync || f.ephemeral,
	}
	if f.verbose {
		opts.Verbosity = verboseLevel
		opts.Log = command.ErrOrStderr()
	}
	return opts
}

// hubTitle is what a hub is in the lines that announce it; a member has another title.
const hubTitle = "hub"

// announceMove prints that a hub has moved to another Kubernetes.
func announceMove(ctx context.Context, out io.Writer, running *hub.Hub) error {
	to, err := export.MovedTo(ctx, running.RESTConfig())
	if err != nil || to == "" {
		return err
	}
	if _, err := fmt.Fprintf(out, "This hub has moved to %s: it decides and delivers nothing, and hands over its agents.\n", to); err != nil {
		return fmt.Errorf("printing where the hub has moved: %w", err)
	}
	return nil
}

// announce prints the address of a control plane. Programs that start one wait for its last line.
func announce(out io.Writer, title string, running *hub.Hub) error {
	pages := ""
	if title == hubTitle {
		pages = "To see it in a browser: kubectl berth console\n"
	}
	_, err := fmt.Fprintf(out, `Berth %s is ready: Kubernetes %s at %s
Its data and log are in %s
%s
export KUBECONFIG=%s
`, title, running.Versions().Kubernetes, running.RESTConfig().Host, filepath.Dir(running.Kubeconfig()), pages, running.Kubeconfig())
	if err != nil {
		return fmt.Errorf("printing where the hub is: %w", err)
	}
	return nil
}
