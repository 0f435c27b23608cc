package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/placement"
	"github.com/berth-project/berth/internal/status"
	"github.com/berth-project/berth/internal/status/rule"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// metrics are the metrics of a manager, as telemetry registers them, and one of a work queue.
type metrics struct {
	*prometheus.Registry

	depth *prometheus.GaugeVec
}

func newMetrics(end time.Time) *metrics {
	out := &metrics{prometheus.NewRegistry(), prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "d"},
		[]string{"name"})}
	placement.NewMetrics(out)
	registerCertificate(out, end)
	out.MustRegister(out.depth)
	return out
}

// registerCertificate registers the metric of a certificate, as the manager does.
func registerCertificate(registry prometheus.Registerer, end time.Time) {
	set := &telemetry.Set{}
	set.Scraped("berth_certificate_end_timestamp_seconds", "e", func(emit telemetry.Emit) { emit(float64(end.Unix())) })
	set.Register(registry)
}

// TestReport follows an alert from the first sample on which its condition holds until it ends.
func TestReport(t *testing.T) {
	from := newMetrics(now.Add(3 * 24 * time.Hour))
	from.depth.WithLabelValues("placement").Set(7)
	from.depth.WithLabelValues("health").Set(0)
	from.depth.WithLabelValues("of another program").Set(9)
	clock, elected := clocktesting.NewFakeClock(now), make(chan struct{})
	monitor, err := status.NewMonitor(status.Options{
		Metrics: from, Process: from, Clock: clock, Replica: "pod-1_x", Elected: elected, Queues: []string{"placement", "health"},
		RequestLimit: 1000, BytesLimit: 200e6,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := monitor.Report(); got.Leads || len(got.Alerts) > 0 || !got.At.IsZero() {
		t.Errorf("before the first sample: %+v", got)
	}
	monitor.Sample()
	got := monitor.Report()
	if got.Leads || got.Replica != "pod-1_x" || !got.At.Equal(now) {
		t.Errorf("the replica %s leads: %v, at %s", got.Replica, got.Leads, got.At)
	}
	if diff := cmp.Diff([]status.Queue{{Name: "placement", Waiting: 7}, {Name: "health"}}, got.Queues); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if state, first := stateOf(got, "BerthCertificateEnds"), got.Alerts[0].Name; state != rule.Pending || first != "BerthCertificateEnds" {
		t.Errorf("the certificate ends: %s, and %s is first", state, first)
	}
	if len(got.Certificates) != 1 || !got.Certificates[0].End.Equal(now.Add(3*24*time.Hour)) {
		t.Errorf("certificates: %+v", got.Certificates)
	}
	if got.Writes.Limit != 1000 || got.Writes.BytesLimit != 200e6 {
		t.Errorf("limits: %+v", got.Writes)
	}
	close(elected)
	clock.Step(time.Hour)
	monitor.Sample()
	if got := monitor.Report(); stateOf(got, "BerthCertificateEnds") != rule.Firing || !got.Leads {
		t.Errorf("after an hour: %s, leads: %v", stateOf(got, "BerthCertificateEnds"), got.Leads)
	}
}

// counted counts how often metrics are read.
type counted struct {
	prometheus.Gatherer

	times int
}

func (c *counted) Gather() ([]*dto.MetricFamily, error) {
	c.times++
	return c.Gatherer.Gather() //nolint:wrapcheck // it is a registry
}

// TestTheProcessIsReadForReportsOnly takes samples without a reader, and then reports one after the other.
func TestTheProcessIsReadForReportsOnly(t *testing.T) {
	own, process := &counted{Gatherer: newMetrics(now.Add(time.Hour))}, prometheus.NewRegistry()
	retries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_retries_total", Help: "r"}, []string{"name"})
	depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "d"}, []string{"name"})
	process.MustRegister(retries, depth)
	retries.WithLabelValues("placement").Add(100)
	depth.WithLabelValues("placement").Set(3)
	read, clock := &counted{Gatherer: process}, clocktesting.NewFakeClock(now)
	monitor, err := status.NewMonitor(status.Options{
		Metrics: own, Process: read, Clock: clock, Elected: make(chan struct{}),
		Queues: []string{"placement"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		monitor.Sample()
		clock.Step(15 * time.Second)
	}
	if own.times != 10 || read.times != 0 {
		t.Errorf("the metrics of the manager were read %d times, those of the process %d times, want 10 and 0", own.times, read.times)
	}
	if state := stateOf(monitor.Report(), "BerthCertificateEnds"); state != rule.Pending {
		t.Errorf("an alert that began without a reader is %s, want pending", state)
	}
	retries.WithLabelValues("placement").Add(2)
	monitor.Report()
	clock.Step(15 * time.Second)
	if diff := cmp.Diff([]status.Queue{{Name: "placement", Waiting: 3, Retries: 2}}, monitor.Report().Queues); diff != "" || read.times != 2 {
		t.Errorf("the metrics of the process were read %d times, want once in 15 seconds; queues (-want +got):\n%s", read.times, diff)
	}
}

func stateOf(of status.Report, alert string) rule.State {
	for _, each := range of.Alerts {
		if each.Name == alert {
			return each.State
		}
	}
	return ""
}

func TestVerdict(t *testing.T) {
	held := &status.Lease{Holder: "pod-1_x", Renewed: now.Add(-2 * time.Second), Duration: 6 * time.Second}
	alert := func(severity string, state rule.State) *status.Report {
		return &status.Report{Alerts: []rule.Alert{{Name: "A", Severity: severity, State: state, Summary: "s", Action: "a"}}}
	}
	ends := func(in time.Duration) []status.Certificate {
		return []status.Certificate{{Name: "c", End: now.Add(in)}}
	}
	cases := map[string]struct {
		hub  status.Hub
		want string
	}{
		"nothing is visible": {status.Hub{}, status.Unknown},
		"a leader":           {status.Hub{Lease: held}, status.Well},
		"a lease that was not renewed": {status.Hub{Lease: &status.Lease{
			Holder: "pod-1_x", Renewed: now.Add(-time.Minute),
			Duration: 6 * time.Second,
		}}, status.Failing},
		"a lease that was released":        {status.Hub{Lease: &status.Lease{Renewed: now, Duration: time.Second}}, status.Failing},
		"a critical alert":                 {status.Hub{Lease: held, Manager: alert("critical", rule.Firing)}, status.Failing},
		"a warning":                        {status.Hub{Lease: held, Manager: alert("warning", rule.Firing)}, status.Attention},
		"a critical alert that waits":      {status.Hub{Lease: held, Manager: alert("critical", rule.Pending)}, status.Well},
		"a pod that is not ready":          {status.Hub{Lease: held, Replicas: []status.Replica{{Name: "pod-1"}}}, status.Attention},
		"a certificate that ends soon":     {status.Hub{Lease: held, Certificates: ends(24 * time.Hour)}, status.Attention},
		"a certificate that has ended":     {status.Hub{Lease: held, Certificates: ends(-time.Hour)}, status.Failing},
		"a certificate that lasts a month": {status.Hub{Lease: held, Certificates: ends(30 * 24 * time.Hour)}, status.Well},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.hub.Verdict(now); got != tc.want {
				t.Errorf("got %s, want %s: %+v", got, tc.want, tc.hub.Problems(now))
			}
		})
	}
	if !(status.Replica{Name: "pod-1"}).Leads(held) || (status.Replica{Name: "pod"}).Leads(held) {
		t.Error("the leader is not found among the pods")
	}
}
