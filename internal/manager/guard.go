package manager

import (
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/manager/guard"
)

// addGuards adds the monitor that warns of roles whose guard is missing.
func (m *managerBuilder) addGuards() error {
	m.guards = &guard.Monitor{
		Roles: m.mgr.GetClient(), Hub: m.mgr.GetAPIReader(), Serving: m.options.Webhooks.enabled(),
		Clock: clock.RealClock{},
	}
	registerGuardMetric(metrics.Registry, m.guards.Unguarded)
	if err := m.mgr.Add(m.guards); err != nil {
		return fmt.Errorf("adding the guards: %w", err)
	}
	return nil
}

// warnings returns the warnings in /readyz?verbose.
func (m *managerBuilder) warnings() []string {
	var out []string
	for _, lack := range m.preflight.Report().Missing {
		out = append(out, lack.String())
	}
	if message := m.definitions.Message(); message != "" {
		out = append(out, message)
	}
	for _, unguarded := range m.guards.Unguarded() {
		out = append(out, unguarded.String())
	}
	for _, rival := range m.rivals {
		out = append(out, rival.Warnings()...)
	}
	return out
}
