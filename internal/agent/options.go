package agent

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/client"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/agent/election"
	"github.com/berth-project/berth/internal/agent/usage"
	"github.com/berth-project/berth/internal/agent/work"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/kube/terminal"
	"github.com/berth-project/berth/internal/membership/registration"
)

const (
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// minExpiration is the shortest certificate that Kubernetes signs on request, in seconds, 90 days the longest that Berth
	// approves without an administrator.
	minExpiration = 3600
	maxExpiration = 90 * 24 * 3600
)

// Options configures an agent. Start from DefaultOptions.
type Options struct {
	// BootstrapKubeconfig is the path of a kubeconfig of the hub that may request a certificate. Empty: the agent has one.
	BootstrapKubeconfig string
	// HubKubeconfigDir is the folder of the hub kubeconfig. Empty: a Secret of the agent's namespace.
	HubKubeconfigDir string
	// MemberKubeconfig is the path of a kubeconfig of the member. Empty: the agent runs in it.
	MemberKubeconfig string
	// Names may be empty: stored names, else random ones.
	Names credential.Names
	// Driver is how the agent authenticates: "csr" by a client certificate, "token" by a token of its service account on the hub.
	Driver string
	// ExternalURL is where users of the hub reach the API server of the member. Empty: nowhere.
	ExternalURL string
	// ExpirationSeconds is the lifetime of certificates to request. 0: the hub decides.
	ExpirationSeconds int32
	// EvictionGrace is how long the objects of a work stay after the hub has lost it; 0 means an hour.
	EvictionGrace time.Duration
	// DeletionWait is how long a deletion waits for objects that others need, before it goes on; 0 means 10 minutes.
	DeletionWait time.Duration
	// QPS bounds the requests for works to the member in a second, with twice as many in a burst; 0 is no limit.
	QPS float32
	// ReportUsage reports how much of the member is free, as the AddOnPlacementScore berth-usage, once in each UsageInterval.
	ReportUsage   bool
	UsageInterval time.Duration
	// LeaderElection lets the agent work only while it holds the Lease "berth-agent" in the namespace of its pod.
	LeaderElection bool
	// HealthAddress is host:port to serve health probes on; "0" is off.
	HealthAddress string
	// LogFormat is "json" or "text"; LogLevel is "debug", "info", "warn" or "error".
	LogFormat, LogLevel string
	// Logger receives the log, where the agent is a part of another program. nil logs to standard error, the lines of the client
	// library too.
	Logger *slog.Logger
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options {
	return Options{
		EvictionGrace: work.DefaultEvictionGrace, DeletionWait: plan.RemovalWait, Driver: registration.DriverCSR,
		UsageInterval: usage.DefaultInterval, HealthAddress: "127.0.0.1:8000", LogFormat: "json", LogLevel: "info",
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.BootstrapKubeconfig, "bootstrap-kubeconfig", o.BootstrapKubeconfig,
		"path of a kubeconfig of the hub with a bootstrap credential, for the first certificate; empty: a certificate is stored")
	flags.StringVar(&o.HubKubeconfigDir, "hub-kubeconfig-dir", o.HubKubeconfigDir,
		"folder that stores the hub kubeconfig, the key pair and the names; empty: the Secret "+credential.SecretName+
			" in the namespace of the agent")
	flags.StringVar(&o.MemberKubeconfig, "member-kubeconfig", o.MemberKubeconfig, "path of a kubeconfig of the member; empty: in-cluster")
	flags.StringVar(&o.Names.Cluster, "cluster-name", o.Names.Cluster,
		"name of the cluster on the hub; empty: the stored name, else a random one")
	flags.StringVar(&o.Names.Agent, "agent-name", o.Names.Agent, "name of the agent; empty: the stored name, else a random one")
	flags.StringVar(&o.Driver, "driver", o.Driver, "how the agent authenticates: csr by a client certificate, token by a token of its "+
		"service account on the hub")
	flags.StringVar(&o.ExternalURL, "external-url", o.ExternalURL,
		"https URL at which users of the hub reach the API server of the member; empty: nowhere")
	flags.Int32Var(&o.ExpirationSeconds, "client-cert-expiration-seconds", o.ExpirationSeconds,
		"lifetime of the client certificate to request; 0: the hub decides")
	flags.DurationVar(&o.EvictionGrace, "appliedmanifestwork-eviction-grace-period", o.EvictionGrace,
		"how long the objects of a work stay after the hub has lost the work; many losses at once are never evicted")
	flags.DurationVar(&o.DeletionWait, "deletion-wait", o.DeletionWait,
		"how long the deletion of a work waits for objects that do not go, such as custom resources, before it deletes what they "+
			"need, such as their operator")
	flags.Float32Var(&o.QPS, "qps", o.QPS,
		"requests for works to the API server of the member in a second; 0: no limit, because API servers share their "+
			"capacity by priority and fairness")
	flags.BoolVar(&o.ReportUsage, "report-usage", o.ReportUsage,
		"report how much CPU, memory, GPUs and pods of the member are free, as the AddOnPlacementScore "+usage.Object+
			" of the cluster, by which placements rank")
	flags.DurationVar(&o.UsageInterval, "usage-interval", o.UsageInterval,
		"time between two measurements with --report-usage, from 5s to 1h; the scores are valid for three of them")
	flags.BoolVar(&o.LeaderElection, "leader-elect", o.LeaderElection,
		"work only while holding the Lease "+election.Name+" in the namespace of the pod, so that one agent of the member works at a time")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress,
		"host:port that serves /healthz, /readyz and /metrics; 0: off")
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
	address, err := url.Parse(o.ExternalURL)
	check(o.ExternalURL == "" || err == nil && address.Scheme == "https" && address.Host != "", "--external-url %q: must be an https URL",
		o.ExternalURL)
	seconds := o.ExpirationSeconds
	check(seconds == 0 || seconds >= minExpiration && seconds <= maxExpiration,
		"--client-cert-expiration-seconds %d: must be %d to %d, or 0", seconds, minExpiration, maxExpiration)
	check(o.DeletionWait > 0, "--deletion-wait %s: must be above 0", o.DeletionWait)
	check(o.EvictionGrace > 0, "--appliedmanifestwork-eviction-grace-period %s: must be above 0", o.EvictionGrace)
	check(o.QPS >= 0, "--qps %g: must be 0 or more", o.QPS)
	check(o.UsageInterval >= usage.MinInterval && o.UsageInterval <= usage.MaxInterval, "--usage-interval %s: must be %s to %s",
		o.UsageInterval, usage.MinInterval, usage.MaxInterval)
	check(slices.Contains([]string{registration.DriverCSR, registration.DriverToken}, o.Driver), "--driver %q: must be csr or token", o.Driver)
	check(slices.Contains([]string{"json", "text"}, o.LogFormat), "--log-format %q: must be json or text", o.LogFormat)
	_, err = parseLevel(o.LogLevel)
	check(err == nil, "--log-level %q: must be debug, info, warn or error", o.LogLevel)
	if len(faults) > 0 {
		return errors.New("wrong options: " + strings.Join(faults, "; ")) //nolint:err113 // it lists the faults
	}
	return nil
}

func parseLevel(name string) (slog.Level, error) {
	var out slog.Level
	if err := out.UnmarshalText([]byte(name)); err != nil {
		return 0, fmt.Errorf("reading the log level %q: %w", name, err)
	}
	return out, nil
}

// newLogger returns the logger of the options, else one of the process, which also receives the lines of the client library.
func newLogger(to io.Writer, options Options) *slog.Logger {
	if options.Logger != nil {
		return options.Logger
	}
	level, err := parseLevel(options.LogLevel)
	if err != nil {
		level = slog.LevelInfo // the options are validated
	}
	settings, lines := &slog.HandlerOptions{Level: level}, terminal.NewWriter(to)
	var handler slog.Handler = slog.NewJSONHandler(lines, settings)
	if options.LogFormat == "text" {
		handler = slog.NewTextHandler(lines, settings)
	}
	out := slog.New(handler)
	klog.SetSlogLogger(out)
	return out
}

// memberConfig returns how to reach the member, which is near: compression would only cost CPU.
func (o *Options) memberConfig() (*rest.Config, error) {
	if o.MemberKubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reaching the member: %w; outside of it, give --member-kubeconfig", err)
		}
		config.DisableCompression = true
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.MemberKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the member kubeconfig: %w", err)
	}
	config.DisableCompression = true
	return config, nil
}

// forWorks returns how to reach the member for works.
func (o *Options) forWorks(member *rest.Config) *rest.Config {
	out := rest.CopyConfig(member)
	out.QPS, out.Burst = -1, 0
	if o.QPS > 0 {
		out.QPS, out.Burst = o.QPS, int(math.Ceil(2*float64(o.QPS)))
	}
	return out
}

// store returns where the credential is stored.
func (o *Options) store(member *client.Client) (credential.Store, error) {
	if o.HubKubeconfigDir != "" {
		return credential.Folder(o.HubKubeconfigDir), nil
	}
	namespace, err := ownNamespace()
	if err != nil {
		return nil, fmt.Errorf("%w; outside of a pod, give --hub-kubeconfig-dir", err)
	}
	return credential.Secret{Client: member, Namespace: namespace}, nil
}

// ownNamespace returns the namespace of the pod of the agent.
func ownNamespace() (string, error) {
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("reading the namespace of the agent: %w", err)
	}
	return strings.TrimSpace(string(namespace)), nil
}

// clientConfigs returns how users of the hub reach the member; nil where they do not.
func (o *Options) clientConfigs(member *rest.Config) ([]clusterv1.ClientConfig, error) {
	if o.ExternalURL == "" {
		return nil, nil
	}
	ca := member.CAData
	if len(ca) == 0 && member.CAFile != "" {
		read, err := os.ReadFile(member.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the CA of the member: %w", err)
		}
		ca = read
	}
	return []clusterv1.ClientConfig{{URL: o.ExternalURL, CABundle: ca}}, nil
}
