package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/config/monitoring"
	"github.com/berth-project/berth/internal/kube/version"
	"github.com/berth-project/berth/internal/status/rule"
)

const (
	// sampleTime is the time between two samples, keptSamples how many are kept: the longest time of a rule, and some more.
	sampleTime  = 15 * time.Second
	keptSamples = 64
	// figureTime is over what time the figures of a report are, rateTime over what time its rates are.
	figureTime, rateTime = 5 * time.Minute, time.Minute
)

// The metrics that a report reads beside those of the rules.
const (
	queueDepth      = "workqueue_depth"
	queueOldest     = "workqueue_longest_running_processor_seconds"
	queueRetries    = "workqueue_retries_total"
	decisionBuckets = "berth_event_to_decision_seconds_bucket"
	decisionCount   = "berth_event_to_decision_seconds_count"
	evaluationCount = "berth_placement_evaluations_total"
	planWrites      = "berth_plan_writes_total"
	workWrites      = "berth_work_writes_total"
	workBytes       = "berth_work_bytes_total"
	deliveryHeld    = "berth_delivery_held"
	certificateEnd  = "berth_certificate_end_timestamp_seconds"
	processStart    = "process_start_time_seconds"
)

// Options configures a Monitor.
type Options struct {
	// Metrics are those that the manager writes itself. They are read every 15 seconds.
	Metrics prometheus.Gatherer
	// Process are those of the process and of the work queues. They may be those of a whole API server, so they are read only for a report.
	Process prometheus.Gatherer
	Clock   clock.WithTicker
	// Replica is the holder of the lease as this replica writes it. Elected is closed once it leads.
	Replica string
	Elected <-chan struct{}
	// Queues are the names of the work queues of the manager. Its process may have those of other programs too.
	Queues []string
	// RequestLimit is the requests per second that the manager may send, BytesLimit the bytes of works; 0 for no limit.
	RequestLimit, BytesLimit float64
}

// Monitor samples the metrics of a manager, and reports how it is. It is safe for concurrent use.
type Monitor struct {
	options Options
	rules   []*rule.Rule
	figures figures
	// wanted are the metrics that are sampled, and those of the process.
	wanted, process map[string]bool

	mu     sync.Mutex
	window *rule.Window
	// queues are the samples of the process, taken for reports.
	queues *rule.Window
	// since is when the condition of each alert began to hold.
	since  map[string]time.Time
	alerts []rule.Alert
}

// figures are the numbers in a report.
type figures struct {
	p50, p99, decisions, evaluations, planWrites, workWrites, planRate, workRate, bytes, retries rule.Figure
}

func newFigures() figures {
	increase := func(metric string, by ...string) rule.Figure {
		return rule.Sum(rule.Metric(metric).Increase(figureTime), by...)
	}
	buckets := rule.Sum(rule.Metric(decisionBuckets).Rate(figureTime), "le")
	return figures{
		p50: rule.Quantile(0.5, buckets), p99: rule.Quantile(0.99, buckets), decisions: increase(decisionCount),
		evaluations: increase(evaluationCount),
		planWrites:  increase(planWrites, "result"), workWrites: increase(workWrites, "result"), bytes: increase(workBytes),
		retries:  increase(queueRetries, "name"),
		planRate: rule.Sum(rule.Metric(planWrites).Rate(rateTime)), workRate: rule.Sum(rule.Metric(workWrites).Rate(rateTime)),
	}
}

// NewMonitor returns a monitor without a sample.
func NewMonitor(options Options) (*Monitor, error) {
	rules, err := rule.Read(monitoring.Alerts())
	if err != nil {
		return nil, fmt.Errorf("reading the shipped alerts: %w", err)
	}
	m := &Monitor{
		options: options, rules: rules, figures: newFigures(), window: rule.NewWindow(keptSamples), queues: rule.NewWindow(keptSamples),
		since: map[string]time.Time{},
		wanted: map[string]bool{
			decisionBuckets: true, decisionCount: true, evaluationCount: true, planWrites: true, workWrites: true,
			workBytes: true, deliveryHeld: true, certificateEnd: true,
		},
		process: map[string]bool{queueDepth: true, queueOldest: true, queueRetries: true, processStart: true},
	}
	for _, each := range rules {
		m.wanted[each.Metric()] = true
	}
	return m, nil
}

// Start implements manager.Runnable: it samples until the context ends.
func (m *Monitor) Start(ctx context.Context) error {
	ticker := m.options.Clock.NewTicker(sampleTime)
	defer ticker.Stop()
	for {
		m.Sample()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica reports.
func (*Monitor) NeedLeaderElection() bool { return false }

// Sample reads the metrics of the manager once, and evaluates the alerts. Metrics that cannot be read are left out.
func (m *Monitor) Sample() {
	sample := m.read(m.options.Metrics, m.wanted)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window.Add(sample)
	m.alerts = m.alerts[:0:0]
	for _, each := range m.rules {
		alert := each.Evaluate(m.window, m.since[each.Alert])
		delete(m.since, each.Alert)
		if alert.Since != nil {
			m.since[each.Alert] = *alert.Since
		}
		m.alerts = append(m.alerts, alert)
	}
	slices.SortStableFunc(m.alerts, func(a, b rule.Alert) int { return cmp.Compare(alertRank(a), alertRank(b)) })
}

func (m *Monitor) read(from prometheus.Gatherer, wanted map[string]bool) rule.Sample {
	families, _ := from.Gather() // it returns what could be read
	return rule.NewSample(m.options.Clock.Now(), families, func(name string) bool { return wanted[name] })
}

// sampleProcess reads the metrics of the process, at most as often as those of the manager. The caller holds the lock.
func (m *Monitor) sampleProcess() rule.Sample {
	last, known := m.queues.Last()
	if !known || m.options.Clock.Since(last.At) >= sampleTime {
		last = m.read(m.options.Process, m.process)
		m.queues.Add(last)
	}
	return last
}

// alertRank puts alerts first that fire, and critical ones before others.
func alertRank(of rule.Alert) int {
	out := map[rule.State]int{rule.Firing: 0, rule.Pending: 2, rule.Quiet: 4, rule.Elsewhere: 6}[of.State]
	if of.Severity != "critical" {
		out++
	}
	return out
}

// Report returns how the manager was at the last sample, and how its queues are.
func (m *Monitor) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := Report{Kind: Kind, Replica: m.options.Replica, Version: version.Version(), Queues: []Queue{}, Certificates: []Certificate{}}
	last, known := m.window.Last()
	if !known {
		return out
	}
	process := m.sampleProcess()
	out.At, out.Leads = last.At, m.leads()
	if started := first(process.Series[processStart]); started > 0 {
		out.Started = time.Unix(int64(started), 0).UTC()
	}
	out.Queues, out.Decisions, out.Writes = m.queuesOf(process), m.decisions(), m.writes(last)
	for _, each := range last.Series[certificateEnd] {
		out.Certificates = append(out.Certificates, Certificate{
			Name: "webhooks and views", End: time.Unix(int64(each.Value), 0).UTC(),
			Action: "The manager renews its own certificate a month before its end.",
		})
	}
	out.Alerts = slices.Clone(m.alerts)
	return out
}

// leads reports whether the replica leads. A replica that loses the lease ends.
func (m *Monitor) leads() bool {
	select {
	case <-m.options.Elected:
		return true
	default:
		return false
	}
}

// queuesOf returns the work queues of the manager, those first that wait longest. Retries count from the first of the reports that follow
// each other.
func (m *Monitor) queuesOf(last rule.Sample) []Queue {
	out := []Queue{}
	retries := m.figures.retries.Evaluate(m.queues)
	for _, each := range last.Series[queueDepth] {
		if !slices.Contains(m.options.Queues, each.Labels["name"]) {
			continue
		}
		queue := Queue{Name: each.Labels["name"], Waiting: int(each.Value)}
		for _, oldest := range last.Series[queueOldest] {
			if oldest.Labels["name"] == queue.Name {
				queue.Oldest = max(queue.Oldest, oldest.Value)
			}
		}
		for _, retry := range retries {
			if retry.Labels["name"] == queue.Name {
				queue.Retries = int(retry.Value)
			}
		}
		if at := slices.IndexFunc(out, func(q Queue) bool { return q.Name == queue.Name }); at >= 0 { // a label for each priority
			out[at].Waiting += queue.Waiting
			continue
		}
		out = append(out, queue)
	}
	slices.SortFunc(out, func(a, b Queue) int {
		return cmp.Or(-cmp.Compare(a.Waiting, b.Waiting), -cmp.Compare(a.Oldest, b.Oldest), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (m *Monitor) decisions() Decisions {
	f, w := m.figures, m.window
	return Decisions{
		Over: w.Span(figureTime).Seconds(), Count: int(f.decisions.Value(w)), P50: f.p50.Value(w), P99: f.p99.Value(w),
		Evaluations: int(f.evaluations.Value(w)),
	}
}

func (m *Monitor) writes(last rule.Sample) Writes {
	f, w := m.figures, m.window
	out := Writes{
		PerSecond: f.planRate.Value(w) + f.workRate.Value(w), Limit: m.options.RequestLimit,
		Bytes: f.bytes.Value(w), BytesLimit: m.options.BytesLimit,
	}
	for _, each := range append(f.planWrites.Evaluate(w), f.workWrites.Evaluate(w)...) {
		switch each.Labels["result"] {
		case "stored":
			out.Stored += int(each.Value)
		case "conflict":
			out.Conflicts += int(each.Value)
		default:
			out.Failed += int(each.Value)
		}
	}
	for _, each := range last.Series[deliveryHeld] {
		out.Held += int(each.Value)
	}
	return out
}

// first returns the value of the first series; 0 without one.
func first(of []rule.Series) float64 {
	if len(of) == 0 {
		return 0
	}
	return of[0].Value
}
