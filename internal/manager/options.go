package manager

import (
	"fmt"
	"net"
	"net/url"
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
	"github.com/berth-project/berth/internal/bridge/probe/target"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/delivery/validation"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/membership/registration/approval"
	"github.com/berth-project/berth/internal/membership/registration/autoaccept"
	"github.com/berth-project/berth/internal/membership/set"
)

// maxManifestLimit is how many bytes etcd accepts in one request.
const maxManifestLimit = 1536 * 1024

// maxExpressionHold is the longest --expression-hold.
const maxExpressionHold = 30 * 24 * time.Hour

// Values of --emptying-edits. With each but the last, the webhook warns of an edit that would leave a placement without clusters.
const (
	HoldEmptyingEdits   = "hold"
	WarnEmptyingEdits   = "warn"
	FollowEmptyingEdits = "off"
)

// Options configures a manager. Its zero value is not usable; start from DefaultOptions.
type Options struct {
	// Kubeconfig is the path of the kubeconfig of the hub; empty means in-cluster, or $KUBECONFIG.
	Kubeconfig string
	// Controllers are the controllers to run: "*" all but those that register, probe, measure, publish or import clusters, or deliver workloads, "name" that controller, "-name" not
	// that controller.
	Controllers []string
	// Workers is the number of placements that are decided concurrently.
	Workers int
	// WithdrawalGrace is how long a deleted set or binding, and a clusterset label that was taken off, count for selected clusters; other
	// labels and claims count a third of it. 0: until the API server has confirmed that they are gone.
	WithdrawalGrace time.Duration
	// ExpressionHold is how long a selected cluster stays on which an expression fails because a claim or score is missing, and how long
	// the last value of a score that is missing or out of date counts for a selected cluster. 0: not at all.
	ExpressionHold time.Duration
	// EmptyingEdits is what becomes of an edit that would leave a placement without clusters: HoldEmptyingEdits, WarnEmptyingEdits or
	// FollowEmptyingEdits.
	EmptyingEdits string
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
	// MaxCertificateDuration is the longest life of a certificate that the controller csr approves.
	MaxCertificateDuration time.Duration
	// BindAgentUser makes the controller acceptance give permissions to the recorded agent of a cluster only.
	BindAgentUser bool
	// WorkCleanupTimeout is how long the works of a cluster that is being deleted wait for a silent agent, and deleted works of a cluster that
	// does not exist; 0: without end.
	WorkCleanupTimeout time.Duration
	// ScoreConfig is the file of the controller score.
	ScoreConfig string
	// ProfileManager is the name of the cluster manager in the objects of the controller profile, and ProfileAccessProvider that of the
	// access provider with the addresses of clusters; empty for none.
	ProfileManager, ProfileAccessProvider string
	// KueueNamespace is the namespace of Kueue, with the placements of the controller kueue.
	KueueNamespace string
	// KueueSource is where Kueue finds new clusters: kueue.SourceSecret or kueue.SourceProfile.
	KueueSource string
	// InventoryNamespaces are those whose ClusterProfiles the controller inventory imports. InventoryGrace is how long a cluster stays after
	// its profile is gone.
	InventoryNamespaces []string
	InventoryGrace      time.Duration
	// ProbeAllow are the servers that the controller probe may connect to: addresses, networks and host names.
	ProbeAllow []string
	// FanoutBytes is how many bytes of specs of works the controller replicaset may write at once, and then in each 5 minutes; 0 for no
	// limit.
	FanoutBytes int64
	// AutoAccept are the rules by which the controller csr accepts clusters without an administrator, as autoaccept.Parse reads them.
	AutoAccept []string
	// Health configures how silent clusters are handled.
	Health HealthOptions
	// Views configures the views.
	Views ViewOptions
	// Console configures the console.
	Console ConsoleOptions
	// Webhooks configures the webhooks.
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
		Workers:                 24,
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
		FanoutBytes:             200_000_000,
		MaxCertificateDuration:  approval.DefaultMaxDuration,
		WorkCleanupTimeout:      10 * time.Minute,
		ProfileManager:          "berth",
		KueueNamespace:          kueue.DefaultNamespace,
		KueueSource:             string(kueue.SourceSecret),
		InventoryGrace:          time.Hour,
		WithdrawalGrace:         15 * time.Second,
		ExpressionHold:          time.Hour,
		EmptyingEdits:           WarnEmptyingEdits,
		Health:                  HealthOptions{UnreachableLimit: 55, TaintUnjoined: OptionalBool{Value: true}},
		Views:                   ViewOptions{Address: addressOff},
		Console:                 ConsoleOptions{Address: addressOff},
		Webhooks:                WebhookOptions{Address: addressOff, NilExecutor: string(work.NilExecutorWarn), ManifestLimit: validation.DefaultManifestLimit},
		LogFormat:               "json",
		LogLevel:                "info",
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "path of the kubeconfig of the hub; empty: in-cluster, or $KUBECONFIG")
	flags.StringSliceVar(&o.Controllers, "controllers", o.Controllers,
		"controllers to run: '*' all but "+strings.Join(RegistrationControllers(), ", ")+", which register clusters and need config/registration, "+
			delivery.Name+", which delivers workloads and needs config/delivery, "+
			addon.Name+", which installs add-ons and needs config/addon, "+
			probe.Name+", which needs config/probe and --probe-allow, "+
			score.Name+", which needs config/score and --score-config, "+
			profile.Name+", which publishes the fleet as ClusterProfiles and needs config/profile, "+
			inventory.Name+", which makes clusters of ClusterProfiles and needs config/inventory and --inventory-namespaces, "+
			"and "+kueue.Name+", which lets the queues of Kueue follow placements and needs config/kueue; "+
			"'foo' the controller foo, '-foo' not that controller. All: "+strings.Join(controllerNames(), ", "))
	flags.IntVar(&o.Workers, "workers", o.Workers, "number of placements decided concurrently")
	flags.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "requests per second to the API server; below 0: no bound")
	flags.DurationVar(&o.WithdrawalGrace, "withdrawal-grace", o.WithdrawalGrace, "how long selected clusters stay after their set, its binding or "+
		"their clusterset label is gone; a third of it after another label or a claim is gone; 0: they leave once the API server has confirmed it")
	flags.DurationVar(&o.ExpressionHold, "expression-hold", o.ExpressionHold, "how long selected clusters stay on which an expression fails "+
		"because a claim or score is missing, and how long their last scores count; 0: not at all")
	flags.StringVar(&o.EmptyingEdits, "emptying-edits", o.EmptyingEdits,
		"what becomes of an edit that would leave a placement without clusters: `hold` keeps them until it is confirmed, warn warns of it, "+
			"off does neither; "+
			"off also follows an edit that names a set, key, name or score that no cluster has")
	flags.IntVar(&o.Burst, "kube-api-burst", o.Burst, "requests to the API server in a burst")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "host:port that serves /metrics; 0: off")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve /metrics over TLS, to callers with a token that may get it, as the ClusterRole system:monitoring allows")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "host:port that serves /healthz and /readyz; 0: off")
	flags.StringVar(&o.ProfileAddress, "profile-bind-address", o.ProfileAddress,
		"host:port on a loopback address that serves profiles under /debug/pprof; 0: off")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection, "work only while holding the lease, so that one manager works at a time")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-elect-namespace", o.LeaderElectionNamespace, "namespace of the lease")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration, "how long the lease is valid after its last renewal")
	flags.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline, "how long a leader retries a failed renewal before it stops")
	flags.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod, "time between attempts to acquire or renew the lease")
	flags.DurationVar(&o.WorkCleanupTimeout, "work-cleanup-timeout", o.WorkCleanupTimeout,
		"how long the works of a ManagedCluster that is being deleted wait for a silent agent, and deleted works where there is no ManagedCluster; then they go, "+
			"and what they applied stays on the member; 0: without end")
	flags.DurationVar(&o.MaxCertificateDuration, "max-certificate-duration", o.MaxCertificateDuration,
		"longest life of a certificate that the controller csr approves; a request for a longer one waits for an administrator")
	flags.Int64Var(&o.FanoutBytes, "fanout-bytes", o.FanoutBytes,
		"bytes of specs of ManifestWorks that the controller "+delivery.Name+" may write at once, and then in each 5 minutes; 0: no bound")
	flags.BoolVar(&o.BindAgentUser, "bind-agent-user", o.BindAgentUser,
		"give the permissions of a cluster to the user of its recorded agent only, instead of to the groups of the cluster, so that a former certificate has none")
	flags.StringSliceVar(&o.ProbeAllow, "probe-allow", o.ProbeAllow,
		"servers of members that the controller probe may connect to: IP addresses, networks such as 10.0.0.0/8, host names, and *.example.com")
	flags.StringVar(&o.ScoreConfig, "score-config", o.ScoreConfig,
		"file with the queries of the controller score, which writes AddOnPlacementScores from the results of Prometheus")
	flags.StringVar(&o.ProfileManager, "profile-manager", o.ProfileManager,
		"name of this cluster manager in the objects of the controller profile; it writes those with this name only")
	flags.StringVar(&o.ProfileAccessProvider, "profile-access-provider", o.ProfileAccessProvider,
		"name of the access provider with the address of each accepted cluster in its ClusterProfile; empty: no address")
	flags.StringSliceVar(&o.InventoryNamespaces, "inventory-namespaces", o.InventoryNamespaces,
		"namespaces whose ClusterProfiles of other cluster managers the controller inventory makes clusters of; who writes profiles there adds clusters")
	flags.StringVar(&o.KueueNamespace, "kueue-namespace", o.KueueNamespace,
		"namespace of Kueue, with the placements that its admission checks name")
	flags.StringVar(&o.KueueSource, "kueue-source", o.KueueSource,
		"where Kueue finds a new cluster: "+string(kueue.SourceSecret)+" (CLUSTER-kubeconfig in its namespace) or "+
			string(kueue.SourceProfile)+" (of this cluster manager or of the inventory of the cluster, in its namespace; the cluster waits for it)")
	flags.DurationVar(&o.InventoryGrace, "inventory-grace", o.InventoryGrace,
		"how long the controller inventory keeps a cluster whose ClusterProfile is gone")
	flags.StringArrayVar(&o.AutoAccept, "auto-accept", o.AutoAccept,
		"rule by which the controller csr accepts new clusters, as 'user=NAME;name=PATTERN' or 'group=NAME;name=PATTERN;set=SET': the requester of "+
			"the first certificate, a regular expression for whole names of clusters, and their set; may be given several times")
	o.Health.addFlags(flags)
	o.Views.addFlags(flags)
	o.Console.addFlags(flags)
	o.Webhooks.addFlags(flags)
	addCertificateFlags(flags, &o.Certificate)
	flags.StringVar(&o.LogFormat, "log-format", o.LogFormat, "json or text")
	flags.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
}

// validate returns every fault of the options.
func (o *Options) validate() error {
	var faults []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	check(o.Workers >= 1 && o.Workers <= 256, "--workers %d: must be 1 to 256", o.Workers)
	check(o.QPS != 0, "--kube-api-qps 0: must be more than 0, or below 0 for no bound")
	check(o.Burst >= 1 || o.QPS < 0, "--kube-api-burst %d: must be 1 or more", o.Burst)
	check(o.WorkCleanupTimeout >= 0, "--work-cleanup-timeout %s: must be 0 or more", o.WorkCleanupTimeout)
	check(o.MaxCertificateDuration > 0, "--max-certificate-duration %s: must be above 0", o.MaxCertificateDuration)
	check(o.FanoutBytes >= 0, "--fanout-bytes %d: must be 0 or more", o.FanoutBytes)
	_, err := target.ParseAllowed(o.ProbeAllow)
	check(err == nil, "--probe-allow: %v", err)
	check(!o.ProbesClusters() || len(o.ProbeAllow) > 0, "--controllers %s: needs --probe-allow, the servers of members that the hub may connect to", probe.Name)
	check(o.MeasuresClusters() == (o.ScoreConfig != ""), "--controllers %s and --score-config: give both or none", score.Name)
	if o.ScoreConfig != "" {
		_, err = score.Load(o.ScoreConfig)
		check(err == nil, "--score-config: %v", err)
	}
	faults = slices.Concat(faults, o.holdFaults(), o.profileFaults(), o.inventoryFaults(), o.kueueFaults())
	check(len(o.AutoAccept) <= autoaccept.MaxRules, "--auto-accept: %d rules, at most %d are allowed", len(o.AutoAccept), autoaccept.MaxRules)
	_, err = o.autoAcceptRules()
	check(err == nil, "--auto-accept %v", err)
	check(o.MetricsSecure || loopback(o.MetricsAddress), "--metrics-bind-address %q: needs --metrics-secure, or a loopback host such as 127.0.0.1: plain HTTP would show the metrics to every caller", o.MetricsAddress)
	check(loopback(o.ProfileAddress), "--profile-bind-address %q: must be host:port with a loopback host such as 127.0.0.1, or 0", o.ProfileAddress)
	limit := o.Health.UnreachableLimit
	check(limit >= 1 && limit <= 100, "--unreachable-limit %d: must be a percentage, 1 to 100", limit)
	check(slices.Contains([]string{"json", "text"}, o.LogFormat), "--log-format %q: must be json or text", o.LogFormat)
	_, err = parseLevel(o.LogLevel)
	check(err == nil, "--log-level %q: must be debug, info, warn or error", o.LogLevel)
	files := o.Certificate
	check((files.CertFile == "") == (files.KeyFile == ""), "--tls-cert-file %q and --tls-private-key-file %q: give both or none", files.CertFile, files.KeyFile)
	check(files.CAFile == "" || files.CertFile != "", "--tls-ca-file %q: is of no use without --tls-cert-file", files.CAFile)
	address, err := url.Parse(o.Webhooks.URL)
	check(o.Webhooks.URL == "" || err == nil && address.Scheme == "https" && address.Host != "", "--webhook-url %q: must be an https URL", o.Webhooks.URL)
	check(slices.Contains(work.NilExecutors(), o.Webhooks.NilExecutor), "--nil-executor %q: must be %s", o.Webhooks.NilExecutor, strings.Join(work.NilExecutors(), ", "))
	check(o.Webhooks.ManifestLimit >= 1 && o.Webhooks.ManifestLimit <= maxManifestLimit, "--manifest-limit %d: must be 1 to %d, since the API server stores no larger objects", o.Webhooks.ManifestLimit, maxManifestLimit)
	check(o.Views.ServicePort >= 0 && o.Views.ServicePort <= 65535, "--view-service-port %d: must be 0 to 65535", o.Views.ServicePort)
	check(!o.Console.enabled() || o.servesViews(), "--console-bind-address %q: needs the views: give --view-bind-address, and run the controller views", o.Console.Address)
	known := sets.New(controllerNames()...)
	for _, name := range o.Controllers {
		check(name == "*" || known.Has(strings.TrimPrefix(name, "-")),
			"--controllers %q: no such controller; there are %s", name, strings.Join(controllerNames(), ", "))
	}
	if len(faults) > 0 {
		return fmt.Errorf("wrong options: %s", strings.Join(faults, "; "))
	}
	return nil
}

// holdFaults checks what holds the clusters of placements.
func (o *Options) holdFaults() []string {
	var out []string
	if !slices.Contains([]string{HoldEmptyingEdits, WarnEmptyingEdits, FollowEmptyingEdits}, o.EmptyingEdits) {
		out = append(out, fmt.Sprintf("--emptying-edits %q: must be hold, warn or off", o.EmptyingEdits))
	}
	if o.ExpressionHold < 0 || o.ExpressionHold > maxExpressionHold {
		out = append(out, fmt.Sprintf("--expression-hold %s: must be 0 to %s", o.ExpressionHold, maxExpressionHold))
	}
	if o.WithdrawalGrace < 0 || o.WithdrawalGrace > time.Hour {
		out = append(out, fmt.Sprintf("--withdrawal-grace %s: must be 0 to 1h", o.WithdrawalGrace))
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
		TaintsUnjoined: o.runsController(health.Name) && o.runsController(set.Name) && o.Health.unjoinedPolicy() != health.TaintReportedOnly,
	}
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
