package manager

import (
	"context"
	"fmt"
	"math"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/placement"
	"github.com/berth-project/berth/internal/views"
)

// addressOff is the address of a server that is switched off.
const addressOff = "0"

// ViewOptions configures the views: the aggregated API that shows each user the sets and clusters that the user may see.
type ViewOptions struct {
	// Address is host:port to listen on; "0" is off. It is off by default, since it needs the Service in config/apiserver.
	Address string
	// Listener replaces Address where the manager is part of another program.
	Listener net.Listener
	// AdvertiseAddress is host:port at which other replicas reach Address; empty means Address, or if that names no host,
	// the address of this host on its route to the hub.
	AdvertiseAddress string
	// ServicePort is the port of the Service under which the API server reaches Address; 0 means the port in
	// config/apiserver.
	ServicePort int
}

// AddFlags binds the options to flags.
func (o *ViewOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Address, "view-bind-address", o.Address, "host:port that serves the aggregated API of the views; 0: off")
	flags.StringVar(&o.AdvertiseAddress, "view-advertise-address", o.AdvertiseAddress,
		"host:port at which other replicas forward requests to the views of the leader; "+
			"empty: --view-bind-address, with the address of this host if it names no host")
	flags.IntVar(&o.ServicePort, "view-service-port", o.ServicePort,
		"port of the Service berth-views under which the API server reaches the views; 0: the port in config/apiserver")
}

// Validate returns every fault of the flags.
func (o *ViewOptions) Validate() []string {
	if o.ServicePort < 0 || o.ServicePort > math.MaxUint16 {
		return []string{fmt.Sprintf("--view-service-port %d: must be 0 to %d", o.ServicePort, math.MaxUint16)}
	}
	return nil
}

// servesViews returns whether the views are served.
func (o *Options) servesViews() bool {
	return o.runsController(views.Name) && (o.Views.Listener != nil || o.Views.Address != "" && o.Views.Address != addressOff)
}

func addViews(ctx context.Context, a *managerBuilder) error {
	if !a.options.servesViews() {
		return nil
	}
	listener := a.options.Views.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", a.options.Views.Address); err != nil {
			return fmt.Errorf("listening for the views: %w", err)
		}
	}
	status, err := a.addStatus()
	if err != nil {
		return err
	}
	options := views.Options{
		Listener: listener, Certificate: a.certificates, Clock: clock.RealClock{}, Record: a.record, Namespace: a.options.LeaderElectionNamespace,
		Status: status.Report,
	}
	if a.options.Delivers() {
		a.deliveries = &delivery.Reader{}
		options.Deliveries = a.deliveries
	}
	if a.options.LeaderElection && a.options.runsController(placement.Name) {
		options.Address = a.advertisedAddress(ctx, listener.Addr())
	}
	seen, err := views.Add(ctx, a.mgr, options)
	if err != nil {
		return err //nolint:wrapcheck // it is about the views
	}
	return a.addConsole(ctx, seen, status)
}

// advertisedAddress returns host:port at which other replicas reach a listener; empty where it is unknown.
func (m *managerBuilder) advertisedAddress(ctx context.Context, listener net.Addr) string {
	if given := m.options.Views.AdvertiseAddress; given != "" {
		return given
	}
	host, port, err := net.SplitHostPort(listener.String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return listener.String()
	}
	hub, _, err := rest.DefaultServerUrlFor(m.mgr.GetConfig())
	if err != nil {
		return ""
	}
	to := hub.Host
	if hub.Port() == "" {
		to = net.JoinHostPort(hub.Hostname(), "443")
	}
	connection, err := new(net.Dialer).DialContext(ctx, "udp", to) // finds the route and sends nothing
	if err != nil {
		return ""
	}
	defer connection.Close() //nolint:errcheck // nothing was sent
	own, _, err := net.SplitHostPort(connection.LocalAddr().String())
	if err != nil {
		return ""
	}
	return net.JoinHostPort(own, port)
}
