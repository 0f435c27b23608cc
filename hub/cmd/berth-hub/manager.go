package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/internal/cli"
	"github.com/berth-project/berth/internal/admission/work"
	"github.com/berth-project/berth/internal/manager"
	"github.com/berth-project/berth/internal/placement"
)

const (
	// disabledAddress is the address of a disabled server.
	disabledAddress = "0"
	// freeAddress is any free loopback port.
	freeAddress = "127.0.0.1:0"
)

// hubManager is the manager of the hub, before it is ready to run.
type hubManager struct {
	options manager.Options
	// protection is what happens to the deletion of an accepted cluster or of its namespace: Deny, Warn or Off.
	protection string
	// logsItself returns whether a flag configures the log of the manager. Otherwise the manager writes into the log of the
	// hub.
	logsItself func() bool
}

// newManager returns a manager with the defaults of the hub. Its servers use free ports, and only the API server of the hub
// connects to them.
func newManager() *hubManager {
	options := manager.DefaultOptions()
	options.MetricsAddress, options.HealthAddress = disabledAddress, disabledAddress
	options.MetricsSecure = true // like the metrics of the API server
	options.Views.Address, options.Webhooks.Address = freeAddress, freeAddress
	options.Works.NilExecutor = work.NilExecutorReview // a new hub has no controllers that omit the executor
	options.Placement.EmptyingEdits = placement.HoldEmptyingEdits
	options.Health.Simulate = true
	options.Controllers = slices.Concat(options.Controllers, manager.RegistrationControllers(), manager.DeliveryControllers(),
		manager.AddOnControllers())
	options.Identity = "berth-hub" // the lock of its data folder excludes a second hub
	// No other replica waits for the lease, so that it is renewed rarely, and survives a busy machine.
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = time.Minute, 40*time.Second, 2*time.Second
	return &hubManager{options: options, protection: string(config.Deny), logsItself: func() bool { return false }}
}

// addFlags adds every flag of the manager. The usage of a flag contains the default of "berth manager" if it differs.
func (m *hubManager) addFlags(flags *pflag.FlagSet) {
	usual := manager.DefaultOptions()
	theirs := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	usual.AddFlags(theirs)
	ours := pflag.NewFlagSet("berth-hub", pflag.ContinueOnError)
	m.options.AddFlags(ours)
	ours.VisitAll(func(flag *pflag.Flag) {
		if usual := theirs.Lookup(flag.Name).DefValue; usual != flag.DefValue {
			flag.Usage += fmt.Sprintf(" (berth manager: %s)", usual)
		}
	})
	ours.Lookup("kubeconfig").Usage = "path of the kubeconfig that the manager uses; empty: one for this hub (berth manager: " +
		"in-cluster, or $KUBECONFIG)"
	ours.Lookup("log-format").Usage += "; the manager logs into the hub's log unless this or --log-level is given (berth " +
		"manager: to standard error)"
	flags.AddFlagSet(ours)
	flags.StringVar(&m.protection, "deletion-protection", m.protection,
		"what happens to the deletion of an accepted ManagedCluster without the annotation berth-project.io/on-delete, and of the namespace of "+
			"an accepted cluster: Deny, Warn or Off")
	m.logsItself = func() bool { return flags.Changed("log-format") || flags.Changed("log-level") }
}

// prepare opens the ports of the views and the webhooks. The manager registers them with the hub itself.
func (m *hubManager) prepare(ctx context.Context) (cli.Manager, error) {
	options := m.options
	protection, err := m.protectionManifests()
	if err != nil {
		return cli.Manager{}, err
	}
	if !m.logsItself() {
		options.Logger = klog.NewKlogr()
	} else if err := options.NewLogger(); err != nil {
		return cli.Manager{}, fmt.Errorf("readying the log of the manager: %w", err)
	}
	if err := listenAll(ctx, &options); err != nil {
		return cli.Manager{}, err
	}
	registered := make(chan struct{})
	options.OnRegistered = sync.OnceFunc(func() { close(registered) }) // a manager may be started again
	serves := options.EnabledServers()
	manifests := []fs.FS{apiserver.Local(), protection}
	if serves.Webhooks {
		manifests = append(manifests, config.WebhookRoles())
	}
	if options.RegistersClusters() {
		manifests = append(manifests, config.Registration())
	}
	if options.Delivers() {
		manifests = append(manifests, config.Delivery())
	}
	if options.InstallsAddOns() {
		manifests = append(manifests, config.AddOn())
	}
	if options.ProbesClusters() {
		manifests = append(manifests, config.Probe())
	}
	if options.MeasuresClusters() {
		manifests = append(manifests, config.Score())
	}
	if options.FeedsQueues() {
		manifests = append(manifests, config.Kueue())
	}
	if options.PublishesProfiles() {
		manifests = append(manifests, config.Profile())
	}
	if options.ImportsClusters() {
		manifests = append(manifests, config.Inventory())
	}
	return cli.Manager{
		Manifests: manifests,
		Ready: func(ctx context.Context, admin *rest.Config) error {
			if !serves.Webhooks && !serves.Views {
				return nil
			}
			select {
			case <-registered:
				return awaitServing(ctx, admin, serves)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Run: func(ctx context.Context, kubeconfig string) error {
			if options.Kubeconfig == "" {
				options.Kubeconfig = kubeconfig
			}
			return runManager(ctx, options)
		},
	}, nil
}

// protectionManifests returns the policies that protect clusters from deletion. A policy of an earlier start that is off now stays, and
// only marks requests for the audit log. Where a flag decides what becomes of workloads, a cluster needs no annotation.
func (m *hubManager) protectionManifests() (fs.FS, error) {
	namespaces, known := map[string]config.Action{"Deny": config.Deny, "Warn": config.Warn, "Off": config.Audit}[m.protection]
	if !known {
		return nil, fmt.Errorf("--deletion-protection %q: must be Deny, Warn or Off", m.protection)
	}
	clusters := namespaces
	if m.options.Acceptance.OnDelete != "" {
		clusters = config.Audit
	}
	return config.Protection(clusters, namespaces), nil
}

// listenAll opens the listeners of the enabled servers. It sets their addresses for the API server, unless a flag sets them.
func listenAll(ctx context.Context, options *manager.Options) error {
	serves := options.EnabledServers()
	if serves.Views {
		listener, port, err := listen(ctx, options.Views.Address)
		if err != nil {
			return fmt.Errorf("readying the views: %w", err)
		}
		options.Views.Listener = listener
		if options.Views.ServicePort == 0 {
			options.Views.ServicePort = port
		}
	}
	if serves.Webhooks {
		listener, port, err := listen(ctx, options.Webhooks.Address)
		if err != nil {
			return fmt.Errorf("readying the webhooks: %w", err)
		}
		options.Webhooks.Listener = listener
		if options.Webhooks.URL == "" {
			options.Webhooks.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
		}
	}
	return nil
}

func listen(ctx context.Context, on string) (listener net.Listener, port int, err error) {
	listener, err = new(net.ListenConfig).Listen(ctx, "tcp", on)
	if err != nil {
		return nil, 0, fmt.Errorf("listening: %w", err)
	}
	address, err := net.ResolveTCPAddr("tcp", listener.Addr().String())
	if err != nil {
		return nil, 0, fmt.Errorf("listening: %w", err)
	}
	return listener, address.Port, nil
}
