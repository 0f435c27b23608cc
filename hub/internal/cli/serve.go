package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/hub"
	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/internal/version"
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
}

func serveCommand(wiring Config) *cobra.Command {
	var flags serveFlags
	command := &cobra.Command{
		Use:   "berth-hub",
		Short: "A whole hub in one process",
		Long:  serveHelp,
		Args:  cobra.NoArgs,
		// With the flag below, cobra prints it; Kubernetes' own flag would be ignored.
		Version: version.Version(),
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.serve(command, wiring)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.dataDir, "data-dir", defaultDataDir(), "folder that holds all the hub keeps; also set by "+dataDirVariable)
	set.StringVar(&flags.listen, "listen", "127.0.0.1", "IP `address` of the API server; 0.0.0.0 is every address of the machine, which agents on other machines need")
	set.StringVar(&flags.advertise, "advertise-url", "", "`URL` of the API server for agents, as https://HOST:PORT; empty: the address of --listen")
	set.StringSliceVar(&flags.sans, "san", nil, "further DNS `names` and IP addresses in the certificate of the API server; may be repeated")
	set.IntVar(&flags.port, "port", 0, "port of the API server; 0 takes a free one and keeps it")
	set.IntVar(&flags.etcdPort, "etcd-port", 0, "port of etcd on 127.0.0.1; 0 takes a free one")
	set.BoolVar(&flags.noManager, "no-manager", false, "run the control plane without Berth's manager")
	set.StringVar(&flags.manifests, "manifests", "", "folder with YAML files to apply at the start, after Berth's own, those of new clusters and scores with their status")
	set.BoolVar(&flags.ephemeral, "ephemeral", false, "use a temporary data folder and remove it at the end")
	set.BoolVar(&flags.noFsync, "unsafe-no-fsync", false, "write faster, and lose data in a power cut")
	set.BoolVarP(&flags.verbose, "verbose", "v", false, "log more, and to standard error too")
	set.BoolVar(&flags.withStdin, "stop-with-stdin", false, "stop when standard input ends")
	set.Bool("version", false, "print the hub's version")
	if wiring.ManagerFlags != nil {
		wiring.ManagerFlags(set)
	}
	command.MarkFlagsMutuallyExclusive("data-dir", "ephemeral")
	return command
}

// serve runs a hub until a signal, a failure, or the end of standard input if
// the flag for it is set. A second signal ends the process at once.
func (f *serveFlags) serve(command *cobra.Command, wiring Config) error {
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
	options, err := f.options(ctx, command, wiring)
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
	if err := f.announce(command.OutOrStdout(), running); err != nil {
		return err
	}
	return running.Wait()
}

func (f *serveFlags) options(ctx context.Context, command *cobra.Command, wiring Config) (hub.Options, error) {
	opts := hub.Options{
		DataDir:         f.dataDir,
		Listen:          f.listen,
		AdvertiseURL:    f.advertise,
		SANs:            f.sans,
		Port:            f.port,
		EtcdPort:        f.etcdPort,
		ManagerIdentity: hub.Identity{User: wiring.ManagerUser, Groups: wiring.ManagerGroups},
		NoFsync:         f.noFsync || f.ephemeral,
	}
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
	if f.verbose {
		opts.Verbosity = verboseLevel
		opts.Log = command.ErrOrStderr()
	}
	return opts, nil
}

// announce prints the address of the hub. Programs that start a hub wait for its last line.
func (f *serveFlags) announce(out io.Writer, running *hub.Hub) error {
	_, err := fmt.Fprintf(out, `Berth hub is ready: Kubernetes %s at %s
Its data and log are in %s

export KUBECONFIG=%s
`, embed.LinkedVersions().Kubernetes, running.RESTConfig().Host, filepath.Dir(running.Kubeconfig()), running.Kubeconfig())
	if err != nil {
		return fmt.Errorf("printing where the hub is: %w", err)
	}
	return nil
}
