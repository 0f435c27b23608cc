package profile

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// Manager is the name of the cluster manager in profiles and decisions.
	Manager string
	// AccessProvider is the name of the access provider with the addresses of clusters; empty for none.
	AccessProvider string

	// What the manager sets.

	Clock clock.PassiveClock
	// Registry is where the metrics are registered.
	Registry prometheus.Registerer
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{Manager: "berth"} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Manager, "profile-manager", o.Manager,
		"name of this cluster manager in the objects of the controller profile; it writes those with this name only")
	flags.StringVar(&o.AccessProvider, "profile-access-provider", o.AccessProvider,
		"name of the access provider with the address of each accepted cluster in its ClusterProfile; empty: no address")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	var out []string
	if faults := validation.IsValidLabelValue(o.Manager); len(faults) > 0 || o.Manager == "" {
		out = append(out, fmt.Sprintf("--profile-manager %q: must be a label value that is not empty", o.Manager))
	}
	if faults := validation.IsDNS1123Subdomain(o.AccessProvider); len(faults) > 0 && o.AccessProvider != "" {
		out = append(out, fmt.Sprintf("--profile-access-provider %q: %s", o.AccessProvider, faults[0]))
	}
	return out
}
