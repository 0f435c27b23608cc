package managerstatus

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
	"github.com/berth-project/berth/internal/managerstatus/rule"
	"github.com/berth-project/berth/internal/version"
)

const (
	// sampleTime is the time between two samples, keptSamples how many are kept: the longest time of a rule, and some more.
	sampleTime  = 15 * time.Second
	keptSamples = 64
	// figureTime is over what time the figures of a report are.
	figureTime = "5m"
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
	// Metrics are those of the manager.
	Metrics prometheus.Gatherer
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
	wanted  map[string]bool
	figures map[string]*rule.Expression

	mu     sync.Mutex
	window *rule.Window
	// since is when the condition of each alert began to hold.
	since  map[string]time.Time
	alerts []rule.Alert
	// sampled is when the last sample was taken.
	sampled time.Time
}

// NewMonitor returns a monitor without a sample.
func NewMonitor(options Options) (*Monitor, error) {
	rules, err := rule.Read(monitoring.Alerts())
	if err != nil {
		return nil, fmt.Errorf("reading the shipped alerts: %w", err)
	}
	m := &Monitor{
		options: options, rules: rules, wanted: map[string]bool{}, figures: map[string]*rule.Expression{}, window: rule.NewWindow(keptSamples), since: map[string]time.Time{},
	}
	for _, each := range rules {
		for _, name := range each.Metrics() {
			m.wanted[name] = true
		}
	}
	for _, name := range []string{queueDepth, queueOldest, processStart, certificateEnd, deliveryHeld} {
		m.wanted[name] = true
	}
	for name, text := range figures() {
		if m.figures[name], err = rule.Parse(text); err != nil {
			return nil, fmt.Errorf("reading the figure %s: %w", name, err)
		}
		for _, metric := range m.figures[name].Metrics() {
			m.wanted[metric] = true
		}
	}
	return m, nil
}

// figures are the expressions of the figures in a report, by name.
func figures() map[string]string {
	increase := func(name, matchers string) string {
		return "sum(increase(" + name + matchers + "[" + figureTime + "]))"
	}
	quantile := func(of string) string {
		return "histogram_quantile(" + of + ", sum by (le) (rate(" + decisionBuckets + "[" + figureTime + "])))"
	}
	return map[string]string{
		"p50": quantile("0.5"), "p99": quantile("0.99"), "decisions": increase(decisionCount, ""), "evaluations": increase(evaluationCount, ""),
		"plan": "sum by (result) (increase(" + planWrites + "[" + figureTime + "]))", "work": "sum by (result) (increase(" + workWrites + "[" + figureTime + "]))",
		"planRate": "sum(rate(" + planWrites + "[1m]))", "workRate": "sum(rate(" + workWrites + "[1m]))",
		"bytes": increase(workBytes, ""), "retries": "sum by (name) (increase(" + queueRetries + "[" + figureTime + "]))",
	}
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

// Sample reads the metrics once, and evaluates the alerts. Metrics that cannot be read are left out.
func (m *Monitor) Sample() {
	families, _ := m.options.Metrics.Gather() // it returns what could be read
	now := m.options.Clock.Now()
	sample := rule.NewSample(now, families, func(name string) bool { return m.wanted[name] })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window.Add(sample)
	m.sampled = now
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

// alertRank puts alerts first that fire, and critical ones before others.
func alertRank(of rule.Alert) int {
	out := map[rule.State]int{rule.Firing: 0, rule.Pending: 2, rule.Quiet: 4, rule.Elsewhere: 6}[of.State]
	if of.Severity != "critical" {
		out++
	}
	return out
}

// Report returns how the manager was at the last sample.
func (m *Monitor) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := Report{Kind: Kind, At: m.sampled, Replica: m.options.Replica, Version: version.Version(), Queues: []Queue{}, Certificates: []Certificate{}}
	last, known := m.window.Last()
	if !known {
		return out
	}
	out.Leads = m.leads()
	if started := first(last.Series[processStart]); started > 0 {
		out.Started = time.Unix(int64(started), 0).UTC()
	}
	out.Queues, out.Decisions, out.Writes = m.queues(last), m.decisions(), m.writes(last)
	for _, each := range last.Series[certificateEnd] {
		out.Certificates = append(out.Certificates, Certificate{
			Name: "webhooks and views", End: time.Unix(int64(each.Value), 0).UTC(), Action: "The manager renews its own certificate a month before its end.",
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

// queues returns the work queues of the manager, those first that wait longest.
func (m *Monitor) queues(last rule.Sample) []Queue {
	out := []Queue{}
	retries := m.figures["retries"].Evaluate(m.window)
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
	return Decisions{
		Over: m.over(), Count: int(m.figure("decisions")), P50: m.figure("p50"), P99: m.figure("p99"), Evaluations: int(m.figure("evaluations")),
	}
}

// over returns over what time the figures are, in seconds.
func (m *Monitor) over() float64 {
	most, err := time.ParseDuration(figureTime)
	if err != nil {
		return 0
	}
	return m.window.Span(most).Seconds()
}

func (m *Monitor) writes(last rule.Sample) Writes {
	out := Writes{
		PerSecond: m.figure("planRate") + m.figure("workRate"), Limit: m.options.RequestLimit,
		Bytes: m.figure("bytes"), BytesLimit: m.options.BytesLimit,
	}
	for _, name := range []string{"plan", "work"} {
		for _, each := range m.figures[name].Evaluate(m.window) {
			switch each.Labels["result"] {
			case "stored":
				out.Stored += int(each.Value)
			case "conflict":
				out.Conflicts += int(each.Value)
			default:
				out.Failed += int(each.Value)
			}
		}
	}
	for _, each := range last.Series[deliveryHeld] {
		out.Held += int(each.Value)
	}
	return out
}

// figure returns the number of a figure; 0 without one.
func (m *Monitor) figure(name string) float64 { return first(m.figures[name].Evaluate(m.window)) }

// first returns the value of the first series; 0 without one.
func first(of []rule.Series) float64 {
	if len(of) == 0 {
		return 0
	}
	return of[0].Value
}
