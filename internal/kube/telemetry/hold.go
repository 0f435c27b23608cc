package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/hold"
)

// kindLabel is a constant label, since the controllers of placements and of works each report their kinds of one metric.
func kindLabel(kind hold.Type) prometheus.Labels { return prometheus.Labels{"kind": string(kind)} }

// placementHolds creates the gauge of each kind of hold of placements, by the reason that reports it.
func placementHolds(set *Set) map[string]prometheus.Gauge {
	set.Define(Definition{
		Name: hold.MetricName, Help: hold.MetricHelp, Type: TypeGauge, Labels: []Label{{Name: "kind", Values: Texts(hold.Types())}},
	})
	out := map[string]prometheus.Gauge{}
	for reason, kind := range hold.PlacementReasons() {
		gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: hold.MetricName, Help: hold.MetricHelp, ConstLabels: kindLabel(kind)})
		set.Add(gauge)
		out[reason] = gauge
	}
	return out
}

// rolloutHolds adds the gauge of each kind of hold of rollouts. Each scrape calls read.
func rolloutHolds(set *Set, read func() DeliveryState) {
	for _, kind := range hold.RolloutTypes() {
		set.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: hold.MetricName, Help: hold.MetricHelp, ConstLabels: kindLabel(kind)},
			func() float64 { return float64(read().Holds[kind]) }))
	}
}
