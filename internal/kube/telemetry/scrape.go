package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/install/preflight"
	"github.com/berth-project/berth/internal/manager/guard"
)

// emit sends one value of a gauge, with the values of its labels.
type emit func(value float64, labels ...string)

// scrapedGauge is a gauge whose values are read at each scrape.
type scrapedGauge struct {
	desc *prometheus.Desc
	read func(emit)
}

// Describe implements prometheus.Collector.
func (g scrapedGauge) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect implements prometheus.Collector.
func (g scrapedGauge) Collect(to chan<- prometheus.Metric) {
	g.read(func(value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	})
}

// NewCertificate registers the metric of the certificate that serves webhooks and views. It must be called once per registry. Each
// scrape calls until. Its ok is false while there is no certificate.
func NewCertificate(registry prometheus.Registerer, until func() (end time.Time, ok bool)) {
	c := &metricSet{}
	newCertificate(c, until)
	registry.MustRegister(c.collectors...)
}

func newCertificate(c *metricSet, until func() (time.Time, bool)) {
	c.scraped("berth_certificate_end_timestamp_seconds",
		"Expiry of the certificate that serves webhooks and views, in seconds since 1970; absent if there is no certificate.",
		func(set emit) {
			if end, ok := until(); ok {
				set(float64(end.Unix()))
			}
		})
}

// NewGuard registers the metric of roles whose admission guard is missing. It must be called once per registry. Each scrape calls
// found.
func NewGuard(registry prometheus.Registerer, found func() []guard.Unguarded) {
	c := &metricSet{}
	newGuard(c, found)
	registry.MustRegister(c.collectors...)
}

func newGuard(c *metricSet, found func() []guard.Unguarded) {
	c.scraped("berth_role_unguarded", "1 if the ClusterRole is on the hub without the admission guard that it needs, else 0.",
		func(set emit) {
			unguarded := found()
			for _, role := range guard.Roles() {
				set(boolValue(slices.ContainsFunc(unguarded, func(u guard.Unguarded) bool { return u.Role == role })), role)
			}
		}, Label{Name: "role", Values: guard.Roles()})
}

// NewPreflight registers the metric of the missing parts of the hub. It must be called once per registry. Each scrape calls found.
func NewPreflight(registry prometheus.Registerer, found func() preflight.Report) {
	c := &metricSet{}
	newPreflight(c, found)
	registry.MustRegister(c.collectors...)
}

func newPreflight(c *metricSet, found func() preflight.Report) {
	kinds := Label{Name: "kind"}
	for _, kind := range preflight.Kinds() {
		kinds.Values = append(kinds.Values, string(kind))
	}
	c.scraped("berth_hub_lacks", "CustomResourceDefinitions, their fields, and permissions that are missing on the hub, by kind. /readyz?verbose names them.",
		func(set emit) {
			counts := map[preflight.Kind]int{}
			for _, lack := range found().Missing {
				counts[lack.Kind]++
			}
			for _, kind := range preflight.Kinds() {
				set(float64(counts[kind]), string(kind))
			}
		}, kinds)
}
