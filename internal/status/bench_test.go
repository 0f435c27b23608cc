package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/placement"
	"github.com/berth-project/berth/internal/status"
)

// apiServerSeries is how many series of histograms the API server of an idle hub with 1,000 clusters has.
const apiServerSeries = 800

// newProcess returns the metrics of a process with an API server: histograms for each verb and resource, and work queues.
func newProcess() *prometheus.Registry {
	out := prometheus.NewRegistry()
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "apiserver_request_duration_seconds", Help: "r",
		Buckets: prometheus.ExponentialBuckets(.005, 1.3, 24),
	}, []string{"verb", "resource", "scope"})
	depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "d"}, []string{"name"})
	retries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_retries_total", Help: "r"}, []string{"name"})
	out.MustRegister(requests, depth, retries, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range apiServerSeries {
		requests.WithLabelValues("GET", fmt.Sprint("resource-", i), "cluster").Observe(.01)
	}
	for i := range 40 {
		depth.WithLabelValues(fmt.Sprint("queue-", i)).Set(0)
		retries.WithLabelValues(fmt.Sprint("queue-", i)).Add(1)
	}
	return out
}

// BenchmarkGather measures what the status of a manager costs: a sample, which is taken every 15 seconds, and a report, which is read while
// a page of the hub is open. Beside them it measures the whole registry of a process with an API server.
func BenchmarkGather(b *testing.B) {
	process := newProcess()
	registry := telemetry.NewRegistry(prometheus.NewRegistry(), process)
	placement.NewMetrics(registry)
	delivery.NewMetrics(registry, func() delivery.State { return delivery.State{} })
	addon.NewMetrics(registry, func() telemetry.RolloutState { return telemetry.RolloutState{} })
	health.NewMetrics(registry, func() health.State { return health.State{Available: 1000} })
	registerCertificate(registry, now.AddDate(1, 0, 0))
	clock := clocktesting.NewFakeClock(now)
	monitor, err := status.NewMonitor(status.Options{
		Metrics: registry.Own, Process: registry.Process, Clock: clock,
		Elected: make(chan struct{}), Queues: []string{"queue-1"},
	})
	if err != nil {
		b.Fatal(err)
	}
	for range 64 { // the window is full
		monitor.Sample()
		clock.Step(15 * time.Second)
	}
	b.Run("sample", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			monitor.Sample()
			clock.Step(15 * time.Second)
		}
	})
	b.Run("report", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			clock.Step(15 * time.Second)
			if got := monitor.Report(); len(got.Queues) != 1 || len(got.Alerts) == 0 {
				b.Fatalf("%+v", got)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := registry.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
