package manager

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/admission/managedcluster"
	"github.com/berth-project/berth/internal/membership/health"
)

// registrationPolicy returns what the webhooks do about clusters that have not joined. Without the health controller no
// taint would be removed, so the webhooks add none, whatever is stored.
func (o *Options) registrationPolicy(sets client.Reader) managedcluster.JoinOptions {
	if !o.runsController(health.Name) {
		return managedcluster.JoinOptions{}
	}
	out := managedcluster.JoinOptions{Simulates: o.Health.Simulate}
	if o.Health.TaintsUnjoined() {
		out.TaintsUnjoined = managedcluster.TaintsUnjoined(sets)
	}
	return out
}

func addHealth(_ context.Context, a *managerBuilder) error {
	options := a.options.Health
	options.Tainted, options.Leases, options.Clock, options.Registry = a.tainted, a.leases, clock.RealClock{}, metrics.Registry
	return health.Add(a.mgr, options)
}
