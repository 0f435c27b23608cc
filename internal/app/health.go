package app

import (
	"context"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/controller/health"
)

// HealthOptions says what the manager makes of clusters that are silent.
type HealthOptions struct {
	// UnreachableLimit is the percentage of joined clusters beyond which their silence is taken for a fault of the hub, so
	// that none of them is given up. 100 gives up every cluster that is silent.
	UnreachableLimit int
	// TaintUnjoined taints also clusters about which nobody ever said anything, so that they are not selected before they
	// join. Without, an inventory that reports no health is left alone.
	TaintUnjoined bool
}

func (o *HealthOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.UnreachableLimit, "unreachable-limit", o.UnreachableLimit,
		"percentage of joined clusters; where more are silent at once, the hub is suspected and none is tainted. 100: never suspected")
	flags.BoolVar(&o.TaintUnjoined, "taint-unjoined", o.TaintUnjoined,
		"taint clusters unreachable about which nobody ever reported anything; without, they are left alone")
}

func addHealth(_ context.Context, a *assembly) error {
	options := a.options.Health
	return health.Add(a.mgr, health.Options{
		Limit: options.UnreachableLimit, Unjoined: options.TaintUnjoined, Leases: a.leases, Clock: clock.RealClock{}, Registry: metrics.Registry,
	})
}
