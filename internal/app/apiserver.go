package app

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/apiserver"
	"github.com/berth-project/berth/internal/controller/placement"
)

// addressOff is the address of what is not to listen.
const addressOff = "0"

// ViewOptions says how the manager serves the views: the aggregated API that shows everybody the sets and clusters that
// he may see.
type ViewOptions struct {
	// Address is host:port to listen on; "0" is off. It is off by default, since it is of no use without the Service in
	// config/apiserver.
	Address string
	// Listener takes the place of Address where the manager is part of another program.
	Listener net.Listener
	// AdvertiseAddress is host:port under which other replicas reach Address; empty means Address, or where that names no
	// host, the address by which this host reaches the hub.
	AdvertiseAddress string
	// ServicePort is the port under which the API server reaches Address by that Service; 0 means the one that it has.
	ServicePort int
}

func (o *ViewOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Address, "view-bind-address", o.Address, "host:port that serves the aggregated API of the views; 0: off")
	flags.StringVar(&o.AdvertiseAddress, "view-advertise-address", o.AdvertiseAddress,
		"host:port under which other replicas reach the views, to pass on to the leader what only it can answer; empty: --view-bind-address, on the host's own address where that names none")
	flags.IntVar(&o.ServicePort, "view-service-port", o.ServicePort,
		"port of the Service berth-views under which the API server reaches the views; 0: the one in config/apiserver")
}

// servesViews says whether the views are served.
func (o *Options) servesViews() bool {
	return o.runsController(apiserver.Name) && (o.Views.Listener != nil || o.Views.Address != "" && o.Views.Address != addressOff)
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
	options := apiserver.Options{
		Listener: listener, Certificate: a.certificates, Clock: clock.RealClock{}, Record: a.record, Namespace: a.options.LeaderElectionNamespace,
	}
	if a.options.LeaderElection && a.options.runsController(placement.Name) {
		options.Address = a.advertisedAddress(ctx, listener.Addr())
	}
	return apiserver.Add(ctx, a.mgr, options)
}

// advertisedAddress returns host:port under which other replicas reach a listener; empty where that cannot be told.
func (a *managerBuilder) advertisedAddress(ctx context.Context, listener net.Addr) string {
	if given := a.options.Views.AdvertiseAddress; given != "" {
		return given
	}
	host, port, err := net.SplitHostPort(listener.String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return listener.String()
	}
	hub, _, err := rest.DefaultServerUrlFor(a.mgr.GetConfig())
	if err != nil {
		return ""
	}
	to := hub.Host
	if hub.Port() == "" {
		to = net.JoinHostPort(hub.Hostname(), "443")
	}
	connection, err := new(net.Dialer).DialContext(ctx, "udp", to) // which sends nothing, and finds the way
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
