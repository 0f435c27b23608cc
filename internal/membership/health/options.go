package health

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Options configures the controller. Flags set the first part, the manager the second.
type Options struct {
	// UnreachableLimit is a percentage of the joined clusters. While more of them are silent, the cause is probably the hub,
	// and no cluster is tainted. 100 taints every silent cluster.
	UnreachableLimit int
	// TaintUnjoined also taints clusters that no agent has ever reported, so that they are not selected before they join.
	// Unless the flag is set, it is on unless that would evict selected clusters.
	TaintUnjoined OptionalBool
	// Simulate reports annotated clusters without an agent as accepted, joined and available.
	Simulate bool

	// What the manager sets.

	// Tainted is closed once the informer shows the taints of the first pass over the clusters.
	Tainted chan<- struct{}
	// Leases observes the watch of the leases in the cache of the manager.
	Leases   *LeaseWatch
	Clock    clock.PassiveClock
	Registry prometheus.Registerer
}

// OptionalBool is a flag that records whether it was set. It implements pflag.Value.
type OptionalBool struct{ Value, Changed bool }

// String returns the value.
func (o *OptionalBool) String() string { return strconv.FormatBool(o.Value) }

// Type names the type of the flag.
func (*OptionalBool) Type() string { return "bool" }

// Set sets the value and records that it was set.
func (o *OptionalBool) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*o = OptionalBool{Value: on, Changed: true}
	return nil
}

// DefaultOptions returns the defaults of the flags.
func DefaultOptions() Options {
	return Options{UnreachableLimit: 55, TaintUnjoined: OptionalBool{Value: true}}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.UnreachableLimit, "unreachable-limit", o.UnreachableLimit,
		"percentage of joined clusters; while more are silent at once, the hub is the probable cause and no cluster is tainted. 100: no limit")
	flags.VarPF(&o.TaintUnjoined, "taint-unjoined", "",
		"taint clusters that no agent has ever reported, so that they are not selected; false is for inventories without agents. "+
			"Unless the flag is set, no such cluster is tainted while placements have selected such clusters").NoOptDefVal = "true"
	flags.BoolVar(&o.Simulate, "simulate", o.Simulate,
		"report clusters with the annotation "+clusterv1.SimulatedAnnotationKey+"=true, which have no agent, as accepted, joined and available")
}

// Validate returns every fault of the flags.
func (o *Options) Validate() []string {
	if o.UnreachableLimit < 1 || o.UnreachableLimit > 100 {
		return []string{fmt.Sprintf("--unreachable-limit %d: must be a percentage, 1 to 100", o.UnreachableLimit)}
	}
	return nil
}

// TaintsUnjoined reports whether clusters that no agent has ever reported are tainted, unless that would evict selected clusters.
func (o *Options) TaintsUnjoined() bool { return o.TaintUnjoined.Value }

// unjoined returns how clusters that no agent has ever reported are tainted.
func (o *Options) unjoined() Unjoined {
	switch {
	case !o.TaintUnjoined.Value:
		return TaintReportedOnly
	case o.TaintUnjoined.Changed:
		return TaintUnjoined
	default:
		return TaintUnlessSelected
	}
}
