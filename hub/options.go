package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub/internal/datadir"
	"github.com/berth-project/berth/hub/internal/encryption"
)

const (
	maxPort  = 65535
	maxNodes = 100
	loopback = "127.0.0.1"
)

var errNoDataDir = errors.New("starting the hub: no data folder given")

// Options configures a hub. The zero value of every field but DataDir is a
// sensible default.
type Options struct {
	// DataDir is the folder with all data of the hub. It is created if needed, survives restarts, and belongs to one hub at a
	// time.
	DataDir string
	// Listen is the IP address of the API server; empty is 127.0.0.1, and 0.0.0.0 is every address of the machine.
	Listen string
	// Port is the API server's port. 0 is the port of the last start, and at the first start a free port from 20000 to 29999.
	Port int
	// AdvertiseURL is the URL of the API server for agents; empty is the listen address. Its host is in the certificate.
	AdvertiseURL string
	// SANs are further DNS names and IP addresses in the certificate of the API server.
	SANs []string
	// EtcdPort is etcd's port on 127.0.0.1. 0 is any free port.
	EtcdPort int
	// Manifests are applied at every start, definitions of custom resources first:
	// every *.yaml and *.yml below each file system.
	Manifests []fs.FS
	// Objects are applied once the manager is ready, because its webhooks may change them. The custom resource definitions
	// among them are applied with the Manifests.
	Objects []fs.FS
	// Manager runs once the control plane is ready, with a kubeconfig of its own. It must return when its context ends. If it
	// returns earlier, the hub stops. nil runs the control plane alone.
	Manager func(ctx context.Context, kubeconfig string) error
	// ManagerReady returns once the manager provides all its services. Its argument is the configuration of an administrator.
	// The hub is not ready before. nil means no wait.
	ManagerReady func(ctx context.Context, admin *rest.Config) error
	// ManagerIdentity is the user of the manager's kubeconfig. The zero value is an administrator. The service account of a
	// cluster limits the manager to its permissions there.
	ManagerIdentity Identity
	// Workloads runs the controllers of workloads and nodes, and a scheduler.
	Workloads bool
	// NoAgentCertificates leaves approved certificate requests unsigned, as some managed API servers do. Agents then need the driver token.
	NoAgentCertificates bool
	// Nodes are the fake nodes of the cluster. Their pods run nothing. It needs Workloads.
	Nodes FakeNodes
	// Agent runs beside the control plane, with the kubeconfig of an administrator: this process holds every key of the cluster. It
	// must return when its context ends. nil means none.
	Agent func(ctx context.Context, kubeconfig string) error
	// Encrypt is what is encrypted at rest, with a key in the data folder: encryption.Secrets and encryption.Works. Objects of an earlier
	// choice are written anew.
	Encrypt []string
	// DatabaseQuota is the maximal size of the database file in bytes; 0 is DefaultDatabaseQuota.
	DatabaseQuota int64
	// MinFreeDisk is the free space of the disk in bytes below which the hub becomes read-only; 0 is DefaultMinFreeDisk.
	MinFreeDisk int64
	// NoFsync is faster, and may lose data in a power cut. It is for temporary hubs.
	NoFsync bool
	// Components run the parts of Kubernetes. nil runs those that this process links.
	Components Components
	// Verbosity is the level of the log in the data folder, as in Kubernetes: 0 is
	// quiet, 2 is usual for servers, 4 is debugging.
	Verbosity int
	// Log receives a copy of the log file. It may be nil.
	Log io.Writer
}

// FakeNodes describes nodes without machines. Nodes of an earlier start stay.
type FakeNodes struct {
	// Count is the number of nodes, at most 100.
	Count int
	// Capacity is that of each node.
	Capacity corev1.ResourceList
	// Labels are on each node.
	Labels map[string]string
}

// Identity is a user with groups, as in a client certificate.
type Identity struct {
	User   string
	Groups []string
}

func (o Options) validate() error {
	if o.DataDir == "" {
		return errNoDataDir
	}
	for name, port := range map[string]int{"port": o.Port, "etcd port": o.EtcdPort} {
		if port < 0 || port > maxPort {
			return fmt.Errorf("starting the hub: %s %d is not between 0 and %d", name, port, maxPort)
		}
	}
	if net.ParseIP(o.host()) == nil {
		return fmt.Errorf("starting the hub: listen address %q is no IP address, such as 127.0.0.1 or 0.0.0.0", o.Listen)
	}
	if o.AdvertiseURL != "" {
		advertised, err := url.Parse(o.AdvertiseURL)
		if err != nil || advertised.Scheme != "https" || advertised.Hostname() == "" || strings.Trim(advertised.Path, "/") != "" {
			return fmt.Errorf("starting the hub: advertised URL %q is not of the form https://HOST:PORT", o.AdvertiseURL)
		}
	}
	if o.AdvertiseURL == "" && net.ParseIP(o.host()).IsUnspecified() {
		return fmt.Errorf("starting the hub: listening on %s needs the URL that agents use: --advertise-url https://HOST:PORT", o.Listen)
	}
	if o.Nodes.Count < 0 || o.Nodes.Count > maxNodes {
		return fmt.Errorf("starting the hub: %d fake nodes are not between 0 and %d", o.Nodes.Count, maxNodes)
	}
	if o.Nodes.Count > 0 && !o.Workloads {
		return errors.New("starting the hub: fake nodes need the controllers of workloads: --workloads")
	}
	if err := encryption.Validate(o.Encrypt); err != nil {
		return fmt.Errorf("starting the hub: %w", err)
	}
	return o.validateSANs()
}

func (o Options) validateSANs() error {
	for _, san := range o.SANs {
		if net.ParseIP(san) == nil && len(validation.IsDNS1123Subdomain(san)) > 0 {
			return fmt.Errorf("starting the hub: %q is neither a DNS name nor an IP address for the certificate", san)
		}
	}
	return nil
}

// host returns the IP address to listen on.
func (o Options) host() string { return cmp.Or(o.Listen, loopback) }

// hosts returns the hosts in the certificate of the API server, beside those of every hub.
func (o Options) hosts() []string {
	out := slices.Clone(o.SANs)
	if !net.ParseIP(o.host()).IsUnspecified() {
		out = append(out, o.host())
	}
	if advertised, err := url.Parse(o.AdvertiseURL); err == nil && advertised.Hostname() != "" {
		out = append(out, advertised.Hostname())
	}
	return out
}

// serverURL returns the URL of the API server for clients on this machine.
func (o Options) serverURL(listening net.Addr) string {
	_, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return "https://" + listening.String()
	}
	return datadir.ServerURL(o.host(), port)
}
