package manager

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/delivery/cleanup"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// DeliveryControllers returns the controllers that deliver workloads. "*" does not include them, because they need permissions of their
// own, and because another product may deliver the workloads of a hub.
func DeliveryControllers() []string { return []string{delivery.Name} }

// Delivers reports whether a controller runs that delivers workloads.
func (o *Options) Delivers() bool { return o.runsController(delivery.Name) }

// addReplicaSet adds the controllers of sets and of works that end.
func addReplicaSet(ctx context.Context, a *managerBuilder) error {
	blocked, err := a.blockedBy(ocm.Work())
	if err != nil {
		return err
	}
	ending := a.options.Cleanup
	ending.Clock, ending.Blocked = clock.RealClock{}, blocked
	if err := cleanup.Add(a.mgr, ending); err != nil {
		return err //nolint:wrapcheck // it names the controller
	}
	options := a.options.Delivery
	options.Clock, options.Blocked, options.Env, options.Registry = clock.RealClock{}, blocked, a.env, metrics.Registry
	options.OnDelete = a.options.Acceptance.OnDelete
	options.ManifestLimit, options.Reader, options.Going = a.options.Works.ManifestLimit, a.deliveries, a.record.Going
	options.Leases, options.UsersVerified = a.options.runsController(health.Name), a.guards.RolloutUsersInForce
	options.RolloutControls = func() bool { return a.preflight.Defines(rolloutv1alpha1.Resource("rolloutcontrols").String()) }
	options.FormerTemplates = func() bool { return a.preflight.Serves(rolloutv1alpha1.Resource("formertemplates").String()) }
	return delivery.Add(ctx, a.mgr, options)
}
