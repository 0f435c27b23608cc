package manager

import (
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/internal/delivery/cleanup"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/status"
)

// addStatus adds the monitor of the manager's own metrics, which the views and the console report.
func (m *managerBuilder) addStatus() (*status.Monitor, error) {
	registry, isolated := metrics.Registry.(telemetry.Registry)
	if !isolated {
		registry.Own, registry.Process = metrics.Registry, metrics.Registry
	}
	out, err := status.NewMonitor(status.Options{
		Metrics: registry.Own, Process: registry.Process, Clock: clock.RealClock{}, Replica: m.options.Identity, Elected: m.mgr.Elected(),
		Queues:       append(controllerNames(), cleanup.Name),
		RequestLimit: max(0, float64(m.options.QPS)), BytesLimit: float64(m.options.Delivery.FanoutBytes),
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it is about the shipped alerts
	}
	if err := m.mgr.Add(out); err != nil {
		return nil, fmt.Errorf("adding the status of the manager: %w", err)
	}
	return out, nil
}
