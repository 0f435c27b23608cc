package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// queuePrefix is how the names of the metrics of work queues begin.
const queuePrefix = "workqueue_"

// Registry is where metrics are registered, and from where they are served.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// NewRegistry returns a registry that also serves what the registry of the process has, and what another one has of work
// queues. Queues measure themselves for whichever provider was set first: where the views are linked that is Kubernetes' own
// registry, which nothing serves. What is registered here is not registered in the process: the next registry may have it too.
func NewRegistry(process, other prometheus.Gatherer) Registry {
	own := prometheus.NewRegistry()
	return struct {
		prometheus.Registerer
		prometheus.Gatherer
	}{own, prometheus.Gatherers{process, own, queueMetrics(other)}}
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
