package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// queuePrefix is the prefix of the metrics of work queues.
const queuePrefix = "workqueue_"

// Registry registers metrics and serves them.
type Registry struct {
	prometheus.Registerer
	// Gatherer has all metrics.
	prometheus.Gatherer
	// Own has the metrics that are registered here, Process those of the process and of its work queues. Reading those of a process with an
	// API server costs thousands of times as much.
	Own, Process prometheus.Gatherer
}

// NewRegistry returns a registry that also serves the metrics of the process, and the work queue metrics of another registry. Work
// queues report to the first provider that was set. In a binary with the views that is Kubernetes' own registry, which is not
// served otherwise. Metrics are not registered in the process, so that several registries can hold them.
func NewRegistry(process, other prometheus.Gatherer) Registry {
	own, queues := prometheus.NewRegistry(), queueMetrics(other)
	return Registry{own, prometheus.Gatherers{process, own, queues}, own, prometheus.Gatherers{process, queues}}
}

func queueMetrics(other prometheus.Gatherer) prometheus.GathererFunc {
	return func() ([]*dto.MetricFamily, error) {
		families, err := other.Gather()
		if err != nil {
			return nil, fmt.Errorf("reading the metrics of work queues: %w", err)
		}
		return slices.DeleteFunc(families, func(family *dto.MetricFamily) bool {
			return !strings.HasPrefix(family.GetName(), queuePrefix)
		}), nil
	}
}
