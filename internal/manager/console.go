package manager

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/console/host"
	"github.com/berth-project/berth/internal/membership/health"
	managerstatus "github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/views/viewcache"
)

// ConsoleOptions configures the console: web pages for users with a token of the hub.
type ConsoleOptions struct {
	// Address is host:port to listen on; "0" is off.
	Address string
}

// AddFlags binds the options to flags.
func (o *ConsoleOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Address, "console-bind-address", o.Address,
		"host:port that serves the read-only web pages of the console, over TLS, "+
			"to callers with a bearer token of the hub; needs the views; 0: off")
}

// Validate returns every fault of the flags: every value is valid. The manager compares the console with the views.
func (*ConsoleOptions) Validate() []string { return nil }

func (o *ConsoleOptions) enabled() bool { return o.Address != "" && o.Address != addressOff }

// addConsole adds the console, if it is on.
func (m *managerBuilder) addConsole(ctx context.Context, seen *viewcache.Cache, status *managerstatus.Monitor) error {
	if !m.options.Console.enabled() {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", m.options.Console.Address)
	if err != nil {
		return fmt.Errorf("listening for the console: %w", err)
	}
	options := host.Options{
		Listener: listener, Certificate: m.certificates, Views: seen, Record: m.record, Clock: clock.RealClock{}, Status: status,
		Namespace: m.options.LeaderElectionNamespace, Leases: m.options.runsController(health.Name),
	}
	if m.deliveries != nil {
		options.Deliveries = m.deliveries
	}
	return host.Add(ctx, m.mgr, options)
}
