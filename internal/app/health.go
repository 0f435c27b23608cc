package app

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/controller/health"
	"github.com/berth-project/berth/internal/webhook/managedcluster"
)

// HealthOptions says what the manager makes of clusters that are silent.
type HealthOptions struct {
	// UnreachableLimit is the percentage of joined clusters beyond which their silence is taken for a fault of the hub, so
	// that none of them is given up. 100 gives up every cluster that is silent.
	UnreachableLimit int
	// TaintUnjoined taints also clusters that no agent has ever reported, so that they are not selected before they join. Where
	// it is not given, it is on unless that would evict clusters that are selected.
	TaintUnjoined OptionalBool
	// Simulate reports clusters as accepted, joined and available that are annotated as simulated.
	Simulate bool
}

// OptionalBool is a flag that remembers whether it was given. It implements pflag.Value.
type OptionalBool struct{ Value, Changed bool }

// String returns the value.
func (c *OptionalBool) String() string { return strconv.FormatBool(c.Value) }

// Type names the type of the flag.
func (*OptionalBool) Type() string { return "bool" }

// Set sets the value as given.
func (c *OptionalBool) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*c = OptionalBool{Value: on, Changed: true}
	return nil
}

func (o *HealthOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.UnreachableLimit, "unreachable-limit", o.UnreachableLimit,
		"percentage of joined clusters; where more are silent at once, the hub is suspected and none is tainted. 100: never suspected")
	flags.VarPF(&o.TaintUnjoined, "taint-unjoined", "",
		"taint clusters that no agent has ever reported, so that they are not selected; false is for inventories without agents. "+
			"Where it is not given and placements have selected such clusters, none is tainted until it is").NoOptDefVal = "true"
	flags.BoolVar(&o.Simulate, "simulate", o.Simulate,
		"report clusters with the annotation "+clusterv1.SimulatedAnnotationKey+"=true, which have no agent, as accepted, joined and available")
}

// unjoinedPolicy returns what becomes of clusters that no agent has ever reported.
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

// registrationPolicy returns what admission does about clusters that have not joined. Without the health controller nothing would
// take their taint off, so nothing puts it on, whatever is stored.
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
