package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/hold"
)

const (
	holdsMetric = "berth_holds"
	holdsHelp   = "What is held back until its cause ends or a person ends the hold, by kind: see kubectl berth holds."
)

// kindLabel is a constant label, since the controllers of placements and of works each report their kinds of one metric.
func kindLabel(kind hold.Type) prometheus.Labels { return prometheus.Labels{"kind": string(kind)} }

// placementHolds creates the gauge of each kind of hold of placements, by the reason that reports it.
func placementHolds(c *metricSet) map[string]prometheus.Gauge {
	c.define(typeGauge, holdsMetric, holdsHelp, []Label{{Name: "kind", Values: texts(hold.Types())}})
	out := map[string]prometheus.Gauge{}
	for reason, kind := range hold.PlacementReasons() {
		gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: holdsMetric, Help: holdsHelp, ConstLabels: kindLabel(kind)})
		out[reason], c.collectors = gauge, append(c.collectors, gauge)
	}
	return out
}

// rolloutHolds adds the gauge of each kind of hold of rollouts. Each scrape calls read.
func rolloutHolds(c *metricSet, read func() DeliveryState) {
	for _, kind := range hold.RolloutTypes() {
		desc := prometheus.NewDesc(holdsMetric, holdsHelp, nil, kindLabel(kind))
		c.collectors = append(c.collectors, scrapedGauge{desc, func(set emit) { set(float64(read().Holds[kind])) }})
	}
}
