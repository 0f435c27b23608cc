package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// queues is how the names of the metrics of work queues begin.
const queues = "workqueue_"

// Registry is where metrics are registered, and from where they are served.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// WithQueues returns a registry that also serves what another one has of work queues. Queues measure themselves for whoever
// was first to ask: where the views are linked that is Kubernetes' own registry, which nobody serves.
func WithQueues(registry Registry, other prometheus.Gatherer) Registry {
	return struct {
		prometheus.Registerer
		prometheus.Gatherer
	}{registry, prometheus.Gatherers{registry, queuesOf(other)}}
}

func queuesOf(other prometheus.Gatherer) prometheus.GathererFunc {
	return func() ([]*dto.MetricFamily, error) {
		families, err := other.Gather()
		if err != nil {
			return nil, fmt.Errorf("reading the metrics of work queues: %w", err)
		}
		return slices.DeleteFunc(families, func(family *dto.MetricFamily) bool {
			return !strings.HasPrefix(family.GetName(), queues)
		}), nil
	}
}
