package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/hold"
)

// kindLabel is a constant label, since the controllers of placements and of works each report their kinds of one metric.
func kindLabel(kind hold.Type) prometheus.Labels { return prometheus.Labels{"kind": string(kind)} }

// rolloutHolds adds the gauge of each kind of hold of rollouts. Each scrape calls read.
func rolloutHolds(set *Set, read func() DeliveryState) {
	for _, kind := range hold.RolloutTypes() {
		set.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: hold.MetricName, Help: hold.MetricHelp, ConstLabels: kindLabel(kind)},
			func() float64 { return float64(read().Holds[kind]) }))
	}
}
