package app

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/apiserver"
)

// off is the address of what is not to listen.
const off = "0"

// ViewOptions says how the manager serves the views: the aggregated API that shows everybody the sets and clusters that
// he may see.
type ViewOptions struct {
	// Address is host:port to listen on; "0" is off. It is off by default, since it is of no use without the Service in
	// config/apiserver.
	Address string
	// Listener takes the place of Address where the manager is part of another program.
	Listener net.Listener
	// ServicePort is the port under which the API server reaches Address by that Service; 0 means the one that it has.
	ServicePort int
}

func (o *ViewOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Address, "view-bind-address", o.Address, "host:port that serves the aggregated API of the views; 0: off")
	flags.IntVar(&o.ServicePort, "view-service-port", o.ServicePort,
		"port of the Service berth-views under which the API server reaches the views; 0: the one in config/apiserver")
}

// viewed says whether the views are served.
func (o *Options) viewed() bool {
	return o.runs(apiserver.Name) && (o.Views.Listener != nil || o.Views.Address != "" && o.Views.Address != off)
}

func addViews(ctx context.Context, a *assembly) error {
	if !a.options.viewed() {
		return nil
	}
	listener := a.options.Views.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", a.options.Views.Address); err != nil {
			return fmt.Errorf("listening for the views: %w", err)
		}
	}
	return apiserver.Add(ctx, a.mgr, apiserver.Options{Listener: listener, Certificate: a.source, Clock: clock.RealClock{}, Record: a.record})
}
