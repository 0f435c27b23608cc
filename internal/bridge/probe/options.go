package probe

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/bridge/probe/target"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// Allow are the servers of members that the controller may connect to: addresses, networks and host names.
	Allow []string

	// What the manager sets.

	Clock clock.Clock
	// Random returns numbers from 0 up to 1.
	Random   func() float64
	Registry prometheus.Registerer
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Allow, "probe-allow", o.Allow,
		"servers of members that the controller probe may connect to: IP addresses, networks such as 10.0.0.0/8, host names, and *.example.com")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	if _, err := target.ParseAllowed(o.Allow); err != nil {
		return []string{fmt.Sprintf("--probe-allow: %v", err)}
	}
	return nil
}
