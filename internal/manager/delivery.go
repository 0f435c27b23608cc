package manager

import (
	"context"
	"fmt"

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

// addReplicaSet adds the controllers of sets and of works that end, and the monitor that stops them while that of Open Cluster Management runs.
func addReplicaSet(ctx context.Context, a *managerBuilder) error {
	a.ocmWork = &ocm.Monitor{Hub: a.mgr.GetAPIReader(), Clock: clock.RealClock{}, Rival: ocm.Work()}
	if err := a.mgr.Add(a.ocmWork); err != nil {
		return fmt.Errorf("adding the check for Open Cluster Management: %w", err)
	}
	if err := cleanup.Add(a.mgr, cleanup.Options{Clock: clock.RealClock{}, Blocked: a.ocmWork.Blocked, Timeout: a.options.WorkCleanupTimeout}); err != nil {
		return err //nolint:wrapcheck // it names the controller
	}
	return delivery.Add(ctx, a.mgr, delivery.Options{
		Clock: clock.RealClock{}, Blocked: a.ocmWork.Blocked, Env: a.env, ManifestLimit: a.options.Webhooks.ManifestLimit,
		FanoutBytes: a.options.FanoutBytes, Registry: metrics.Registry, Reader: a.deliveries,
		Leases: a.options.runsController(health.Name), UsersVerified: a.guards.RolloutUsersInForce,
		RolloutControls: func() bool { return a.preflight.Defines(rolloutv1alpha1.Resource("rolloutcontrols").String()) },
		FormerTemplates: func() bool { return a.preflight.Serves(rolloutv1alpha1.Resource("formertemplates").String()) },
	})
}
