package set

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// RegisterMetrics registers the gauge of the sets whose selector is held. It must be called once per registry. Each scrape calls held. The
// label is constant, since other controllers report the other kinds of the metric.
func RegisterMetrics(registry prometheus.Registerer, held func() int) {
	set := &telemetry.Set{}
	set.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: hold.MetricName, Help: hold.MetricHelp, ConstLabels: prometheus.Labels{"kind": string(hold.Selector)},
	}, func() float64 { return float64(held()) }))
	set.Register(registry)
}
