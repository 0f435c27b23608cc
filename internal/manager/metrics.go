package manager

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/bridge/inventory"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/install/preflight"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/manager/guard"
	"github.com/berth-project/berth/internal/membership/csr"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/placement"
)

// MetricDefinitions returns every metric of the manager, by name.
func MetricDefinitions() []telemetry.Definition {
	set := &telemetry.Set{}
	describeCertificate(set, nil)
	describeGuards(set, nil)
	describePreflight(set, nil)
	addon.DescribeMetrics(set)
	delivery.DescribeMetrics(set)
	health.DescribeMetrics(set)
	csr.DescribeMetrics(set)
	placement.DescribeMetrics(set)
	inventory.DescribeMetrics(set)
	probe.DescribeMetrics(set)
	profile.DescribeMetrics(set)
	score.DescribeMetrics(set)
	return set.Definitions()
}

// registerCertificateMetric registers the metric of the certificate that serves webhooks and views. It must be called once per registry.
// Each scrape calls until. Its ok is false while there is no certificate.
func registerCertificateMetric(registry prometheus.Registerer, until func() (end time.Time, ok bool)) {
	set := &telemetry.Set{}
	describeCertificate(set, until)
	set.Register(registry)
}

func describeCertificate(set *telemetry.Set, until func() (time.Time, bool)) {
	set.Scraped("berth_certificate_end_timestamp_seconds",
		"Expiry of the certificate that serves webhooks and views, in seconds since 1970; absent if there is no certificate.",
		func(emit telemetry.Emit) {
			if end, ok := until(); ok {
				emit(float64(end.Unix()))
			}
		})
}

// registerGuardMetric registers the metric of roles whose admission guard is missing. It must be called once per registry. Each scrape
// calls found.
func registerGuardMetric(registry prometheus.Registerer, found func() []guard.Unguarded) {
	set := &telemetry.Set{}
	describeGuards(set, found)
	set.Register(registry)
}

func describeGuards(set *telemetry.Set, found func() []guard.Unguarded) {
	set.Scraped("berth_role_unguarded", "1 if the ClusterRole is on the hub without the admission guard that it needs, else 0.",
		func(emit telemetry.Emit) {
			unguarded := found()
			for _, role := range guard.Roles() {
				emit(telemetry.BoolValue(slices.ContainsFunc(unguarded, func(u guard.Unguarded) bool { return u.Role == role })), role)
			}
		}, telemetry.Label{Name: "role", Values: guard.Roles()})
}

// registerPreflightMetric registers the metric of the missing parts of the hub. It must be called once per registry. Each scrape calls
// found.
func registerPreflightMetric(registry prometheus.Registerer, found func() preflight.Report) {
	set := &telemetry.Set{}
	describePreflight(set, found)
	set.Register(registry)
}

func describePreflight(set *telemetry.Set, found func() preflight.Report) {
	set.Scraped("berth_hub_lacks", "CustomResourceDefinitions, their fields, and permissions that are missing on the hub, by kind. "+
		"/readyz?verbose names them.",
		func(emit telemetry.Emit) {
			counts := map[preflight.Kind]int{}
			for _, lack := range found().Missing {
				counts[lack.Kind]++
			}
			for _, kind := range preflight.Kinds() {
				emit(float64(counts[kind]), string(kind))
			}
		}, telemetry.Label{Name: "kind", Values: telemetry.Texts(preflight.Kinds())})
}
