package inventory

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
)

// maxNamespaces bounds --inventory-namespaces.
const maxNamespaces = 64

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// Namespaces are those whose profiles are imported.
	Namespaces []string
	// Grace is how long a cluster stays after its profile is gone.
	Grace time.Duration

	// What the manager sets.

	Clock clock.PassiveClock
	// Manager is the name of this cluster manager. Its own profiles are not imported.
	Manager  string
	Registry prometheus.Registerer
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options { return Options{Grace: time.Hour} }

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Namespaces, "inventory-namespaces", o.Namespaces,
		"namespaces whose ClusterProfiles of other cluster managers the controller inventory makes clusters of; "+
			"who writes profiles there adds clusters")
	flags.DurationVar(&o.Grace, "inventory-grace", o.Grace, "how long the controller inventory keeps a cluster whose ClusterProfile is gone")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	var out []string
	if len(o.Namespaces) > maxNamespaces {
		out = append(out, fmt.Sprintf("--inventory-namespaces: %d namespaces, at most %d are allowed", len(o.Namespaces), maxNamespaces))
	}
	for _, namespace := range o.Namespaces {
		if faults := validation.IsDNS1123Label(namespace); len(faults) > 0 {
			out = append(out, fmt.Sprintf("--inventory-namespaces %q: %s", namespace, faults[0]))
		}
	}
	if o.Grace < 0 {
		out = append(out, fmt.Sprintf("--inventory-grace %s: must be 0 or more", o.Grace))
	}
	return out
}
