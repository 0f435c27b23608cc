package manager

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/admission/certificate"
	"github.com/berth-project/berth/internal/admission/work"
	"github.com/berth-project/berth/internal/bridge/inventory"
	"github.com/berth-project/berth/internal/bridge/kueue"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/delivery/cleanup"
	"github.com/berth-project/berth/internal/membership/acceptance"
	"github.com/berth-project/berth/internal/membership/csr"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/membership/set"
	"github.com/berth-project/berth/internal/placement"
)

// Options configures a manager. Its zero value is not usable; start from DefaultOptions.
type Options struct {
	// Kubeconfig is the path of the kubeconfig of the hub; empty means in-cluster, or $KUBECONFIG.
	Kubeconfig string
	// Controllers are the controllers to run: "*" all but those that register, probe, measure, publish or import clusters, or deliver
	// workloads, "name" that controller, "-name" not that controller.
	Controllers []string
	// QPS and Burst bound the requests to the API server, per second and in a burst. QPS below 0 is no bound.
	QPS   float32
	Burst int
	// MetricsAddress and HealthAddress are host:port to listen on; "0" is off.
	MetricsAddress, HealthAddress string
	// MetricsSecure serves metrics over TLS, to callers whose token is allowed to get /metrics.
	MetricsSecure bool
	// ProfileAddress is host:port that serves /debug/pprof without authentication, so the host must be a loopback address.
	// "0" is off.
	ProfileAddress string
	// LeaderElection makes one manager work at a time, by a lease in LeaderElectionNamespace.
	LeaderElection          bool
	LeaderElectionNamespace string
	// Identity is the holder of the lease; empty means the host name and a random suffix. It must be unique among the
	// managers of a hub. A manager that is restarted with the same identity takes its own lease back at once.
	Identity string
	// LeaseDuration is how long a lease is valid after its last renewal. A leader that cannot renew it stops after
	// RenewDeadline. RetryPeriod is the time between attempts of the leader; other replicas wait up to 2.2 times as long. So a leader that
	// is killed is replaced within LeaseDuration and 4.4 times RetryPeriod, and a leader that stops within 2.2 times RetryPeriod.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// The options of each controller, and what their flags steer.
	Placement  placement.Options
	Health     health.Options
	Acceptance acceptance.Options
	CSR        csr.Options
	Delivery   delivery.Options
	Cleanup    cleanup.Options
	Probe      probe.Options
	Score      score.Options
	Profile    profile.Options
	Inventory  inventory.Options
	Kueue      kueue.Options
	// Works configures the webhooks of works. Its limit of manifests also holds for the controllers that make works.
	Works work.Options
	// Views, Console and Webhooks configure the servers.
	Views    ViewOptions
	Console  ConsoleOptions
	Webhooks WebhookOptions
	// Certificate is the certificate of the webhooks and the views; empty paths mean that the manager creates one. With a
	// certificate from files and without its CA, another client registers webhooks and views.
	Certificate certificate.Files
	// OnRegistered, if set, is called once webhooks and views are registered with the API server.
	OnRegistered func()
	// Logger receives all log lines; the zero Logger means standard error, with LogFormat and LogLevel.
	Logger logr.Logger
	// LogFormat is "json" or "text"; LogLevel is "debug", "info", "warn" or "error".
	LogFormat, LogLevel string
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options {
	return Options{
		Controllers:             []string{"*"},
		QPS:                     1000,
		Burst:                   2000,
		MetricsAddress:          "127.0.0.1:8081",
		HealthAddress:           "127.0.0.1:8082",
		ProfileAddress:          addressOff,
		LeaderElection:          true,
		LeaderElectionNamespace: "berth-system",
		LeaseDuration:           6 * time.Second,
		RenewDeadline:           4 * time.Second,
		RetryPeriod:             400 * time.Millisecond,
		Placement:               placement.DefaultOptions(),
		Health:                  health.DefaultOptions(),
		Acceptance:              acceptance.DefaultOptions(),
		CSR:                     csr.DefaultOptions(),
		Delivery:                delivery.DefaultOptions(),
		Cleanup:                 cleanup.DefaultOptions(),
		Probe:                   probe.DefaultOptions(),
		Score:                   score.DefaultOptions(),
		Profile:                 profile.DefaultOptions(),
		Inventory:               inventory.DefaultOptions(),
		Kueue:                   kueue.DefaultOptions(),
		Works:                   work.DefaultOptions(),
		Views:                   ViewOptions{Address: addressOff},
		Console:                 ConsoleOptions{Address: addressOff},
		Webhooks:                WebhookOptions{Address: addressOff},
		LogFormat:               "json",
		LogLevel:                "info",
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "path of the kubeconfig of the hub; empty: in-cluster, or $KUBECONFIG")
	flags.StringSliceVar(&o.Controllers, "controllers", o.Controllers,
		"controllers to run: '*' all but "+strings.Join(RegistrationControllers(), ", ")+
			", which register clusters and need config/registration, "+
			delivery.Name+", which delivers workloads and needs config/delivery, "+
			addon.Name+", which installs add-ons and needs config/addon, "+
			probe.Name+", which needs config/probe and --probe-allow, "+
			score.Name+", which needs config/score and --score-config, "+
			profile.Name+", which publishes the fleet as ClusterProfiles and needs config/profile, "+
			inventory.Name+", which makes clusters of ClusterProfiles and needs config/inventory and --inventory-namespaces, "+
			"and "+kueue.Name+", which lets the queues of Kueue follow placements and needs config/kueue; "+
			"'foo' the controller foo, '-foo' not that controller. All: "+strings.Join(controllerNames(), ", "))
	flags.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "requests per second to the API server; below 0: no bound")
	flags.IntVar(&o.Burst, "kube-api-burst", o.Burst, "requests to the API server in a burst")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "host:port that serves /metrics; 0: off")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve /metrics over TLS, to callers with a token that may get it, as the ClusterRole system:monitoring allows")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "host:port that serves /healthz and /readyz; 0: off")
	flags.StringVar(&o.ProfileAddress, "profile-bind-address", o.ProfileAddress,
		"host:port on a loopback address that serves profiles under /debug/pprof; 0: off")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection,
		"work only while holding the lease, so that one manager works at a time")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-elect-namespace", o.LeaderElectionNamespace, "namespace of the lease")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration, "how long the lease is valid after its last renewal")
	flags.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline,
		"how long a leader retries a failed renewal before it stops")
	flags.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod, "time between attempts to acquire or renew the lease")
	flags.StringVar(&o.LogFormat, "log-format", o.LogFormat, "json or text")
	flags.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
	for _, section := range o.sections() {
		section.AddFlags(flags)
	}
}

// section is a part of the options with flags of its own.
type section interface {
	AddFlags(flags *pflag.FlagSet)
	// Validate returns every fault of the flags.
	Validate() []string
}

// sections returns the parts of the options that have flags of their own.
func (o *Options) sections() []section {
	return []section{
		&o.Placement, &o.Health, &o.Acceptance, &o.CSR, &o.Delivery, &o.Cleanup, &o.Probe, &o.Score, &o.Profile, &o.Inventory, &o.Kueue,
		&o.Works, &o.Views, &o.Console, &o.Webhooks, &o.Certificate,
	}
}

// validate returns every fault of the options.
func (o *Options) validate() error {
	faults := o.faults()
	for _, section := range o.sections() {
		faults = append(faults, section.Validate()...)
	}
	if len(faults) > 0 {
		return fmt.Errorf("wrong options: %s", strings.Join(faults, "; "))
	}
	return nil
}

// faults returns the faults of the manager's own flags, and of flags of several sections.
func (o *Options) faults() []string {
	var out []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	check(o.QPS != 0, "--kube-api-qps 0: must be more than 0, or below 0 for no bound")
	check(o.Burst >= 1 || o.QPS < 0, "--kube-api-burst %d: must be 1 or more", o.Burst)
	check(o.MetricsSecure || loopback(o.MetricsAddress), "--metrics-bind-address %q: needs --metrics-secure, "+
		"or a loopback host such as 127.0.0.1: plain HTTP would show the metrics to every caller", o.MetricsAddress)
	check(loopback(o.ProfileAddress),
		"--profile-bind-address %q: must be host:port with a loopback host such as 127.0.0.1, or 0", o.ProfileAddress)
	check(slices.Contains([]string{"json", "text"}, o.LogFormat), "--log-format %q: must be json or text", o.LogFormat)
	_, err := parseLevel(o.LogLevel)
	check(err == nil, "--log-level %q: must be debug, info, warn or error", o.LogLevel)
	check(!o.ProbesClusters() || len(o.Probe.Allow) > 0,
		"--controllers %s: needs --probe-allow, the servers of members that the hub may connect to", probe.Name)
	check(o.MeasuresClusters() == (o.Score.ConfigFile != ""), "--controllers %s and --score-config: give both or none", score.Name)
	check(o.ImportsClusters() == (len(o.Inventory.Namespaces) > 0),
		"--controllers %s and --inventory-namespaces: give both or none", inventory.Name)
	check(!o.Console.enabled() || o.servesViews(),
		"--console-bind-address %q: needs the views: give --view-bind-address, and run the controller views", o.Console.Address)
	known := sets.New(controllerNames()...)
	for _, name := range o.Controllers {
		check(name == "*" || known.Has(strings.TrimPrefix(name, "-")),
			"--controllers %q: no such controller; there are %s", name, strings.Join(controllerNames(), ", "))
	}
	return out
}

// EnabledServers are the servers for the API server that run, and whether the manager decides if clusters that never joined
// are tainted. It stores that decision on the set `global`.
type EnabledServers struct{ Webhooks, Views, TaintsUnjoined bool }

// EnabledServers returns which servers for the API server run.
func (o *Options) EnabledServers() EnabledServers {
	return EnabledServers{
		Webhooks: o.Webhooks.enabled(), Views: o.servesViews(),
		TaintsUnjoined: o.runsController(health.Name) && o.runsController(set.Name) && o.Health.TaintsUnjoined(),
	}
}

// holdsSelectors returns whether an edit that takes away every member of a set is held until it is confirmed.
func (o *Options) holdsSelectors() bool {
	return o.runsController(set.Name) && o.Placement.EmptyingEdits != placement.FollowEmptyingEdits
}

// loopback returns whether an address is reachable from this host only, or off.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return address == addressOff || err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// runsController returns whether a controller runs: the first entry that names it decides, else "*", which does not include the
// controllers that register, probe, measure, publish or import clusters, or deliver workloads.
func (o *Options) runsController(name string) bool {
	for _, entry := range o.Controllers {
		switch entry {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(o.Controllers, "*") && !slices.Contains(namedControllers(), name)
}
