package manager

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/admission/managedcluster"
	"github.com/berth-project/berth/internal/membership/health"
)

// HealthOptions configures how the manager handles silent clusters.
type HealthOptions struct {
	// UnreachableLimit is a percentage of the joined clusters. While more of them are silent, the cause is probably the hub,
	// and no cluster is tainted. 100 taints every silent cluster.
	UnreachableLimit int
	// TaintUnjoined also taints clusters that no agent has ever reported, so that they are not selected before they join.
	// Unless the flag is set, it is on unless that would evict selected clusters.
	TaintUnjoined OptionalBool
	// Simulate reports clusters with the annotation for simulation as accepted, joined and available.
	Simulate bool
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

func (o *HealthOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.UnreachableLimit, "unreachable-limit", o.UnreachableLimit,
		"percentage of joined clusters; while more are silent at once, the hub is the probable cause and no cluster is tainted. 100: no limit")
	flags.VarPF(&o.TaintUnjoined, "taint-unjoined", "",
		"taint clusters that no agent has ever reported, so that they are not selected; false is for inventories without agents. "+
			"Unless the flag is set, no such cluster is tainted while placements have selected such clusters").NoOptDefVal = "true"
	flags.BoolVar(&o.Simulate, "simulate", o.Simulate,
		"report clusters with the annotation "+clusterv1.SimulatedAnnotationKey+"=true, which have no agent, as accepted, joined and available")
}

// unjoinedPolicy returns what happens to clusters that no agent has ever reported.
func (o *HealthOptions) unjoinedPolicy() health.Unjoined {
	switch {
	case !o.TaintUnjoined.Changed && o.TaintUnjoined.Value:
		return health.TaintUnlessSelected
	case o.TaintUnjoined.Value:
		return health.TaintUnjoined
	default:
		return health.TaintReportedOnly
	}
}

// registrationPolicy returns what the webhooks do about clusters that have not joined. Without the health controller no
// taint would be removed, so the webhooks add none, whatever is stored.
func (o *Options) registrationPolicy(sets client.Reader) managedcluster.JoinOptions {
	if !o.runsController(health.Name) {
		return managedcluster.JoinOptions{}
	}
	out := managedcluster.JoinOptions{Simulates: o.Health.Simulate}
	if o.Health.unjoinedPolicy() != health.TaintReportedOnly {
		out.TaintsUnjoined = managedcluster.TaintsUnjoined(sets)
	}
	return out
}

func addHealth(_ context.Context, a *managerBuilder) error {
	options := a.options.Health
	return health.Add(a.mgr, health.Options{
		Limit: options.UnreachableLimit, Unjoined: options.unjoinedPolicy(), Simulate: options.Simulate, Tainted: a.tainted, Leases: a.leases, Clock: clock.RealClock{}, Registry: metrics.Registry,
	})
}
