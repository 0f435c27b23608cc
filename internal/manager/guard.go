package manager

import (
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/manager/guard"
	"github.com/berth-project/berth/internal/membership/registration/ocm"
)

// addGuards adds the monitor that warns of roles whose guard is missing.
func (a *managerBuilder) addGuards() error {
	a.guards = &guard.Monitor{Roles: a.mgr.GetClient(), Hub: a.mgr.GetAPIReader(), Serving: a.options.Webhooks.enabled(), Clock: clock.RealClock{}}
	telemetry.NewGuard(metrics.Registry, a.guards.Unguarded)
	if err := a.mgr.Add(a.guards); err != nil {
		return fmt.Errorf("adding the guards: %w", err)
	}
	return nil
}

// warnings returns the warnings in /readyz?verbose.
func (a *managerBuilder) warnings() []string {
	var out []string
	for _, lack := range a.preflight.Report().Missing {
		out = append(out, lack.String())
	}
	for _, unguarded := range a.guards.Unguarded() {
		out = append(out, unguarded.String())
	}
	for _, monitor := range []*ocm.Monitor{a.ocm, a.ocmWork, a.ocmAddOns} {
		if monitor != nil {
			out = append(out, monitor.Warnings()...)
		}
	}
	return out
}
