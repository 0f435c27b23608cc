package delivery

import (
	"github.com/prometheus/client_golang/prometheus"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// State is what the sets of works of a hub do: numbers of rollouts, of clusters and of held specs.
type State struct {
	telemetry.RolloutState

	// Held counts the clusters whose spec waits for the pace of the hub.
	Held int
	// Holds counts what is held back until a person ends it.
	Holds map[hold.Type]int
}

// Metrics are the metrics of the controller of sets of works.
type Metrics struct {
	writes *prometheus.CounterVec
	bytes  prometheus.Counter
}

// NewMetrics registers the metrics, with every series at 0. It must be called once per registry. Each scrape calls read.
func NewMetrics(registry prometheus.Registerer, read func() State) *Metrics {
	set := &telemetry.Set{}
	out := newMetrics(set, read)
	set.Register(registry)
	for _, verb := range plan.Verbs() {
		for _, result := range telemetry.WriteResults() {
			out.writes.WithLabelValues(verb.String(), result)
		}
	}
	return out
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set, nil) }

func newMetrics(set *telemetry.Set, read func() State) *Metrics {
	telemetry.ScrapeRollouts(set,
		telemetry.Description{
			Name: "berth_rollouts",
			Help: "Rollouts of ManifestWorkReplicaSets, one for each placement of a set, by phase.",
		},
		telemetry.Description{
			Name: "berth_delivery_clusters",
			Help: "Clusters that the placements of ManifestWorkReplicaSets select, by how far the template has come there. A " +
				"cluster counts once for each set.",
		}, func() telemetry.RolloutState { return read().RolloutState })
	set.Scraped("berth_delivery_held", "Clusters whose ManifestWork waits because --fanout-bytes is used up.",
		func(emit telemetry.Emit) { emit(float64(read().Held)) })
	rolloutHolds(set, read)
	return &Metrics{
		writes: set.Counter("berth_work_writes_total",
			"Attempted writes of the ManifestWorks of sets, by verb and result: stored, conflict (another client wrote first), refused (the API "+
				"server refuses the work) or failed.",
			telemetry.Label{Name: "verb", Values: telemetry.Texts(plan.Verbs())}, telemetry.Label{Name: "result", Values: telemetry.WriteResults()}),
		bytes: set.Counter("berth_work_bytes_total", "Bytes of the manifests that were stored in ManifestWorks of sets.").WithLabelValues(),
	}
}

// AddWrite counts an attempted write of a work, and its bytes if it was stored.
func (m *Metrics) AddWrite(verb plan.Verb, result string, bytes int) {
	m.writes.WithLabelValues(verb.String(), result).Inc()
	if result == telemetry.WriteStored {
		m.bytes.Add(float64(bytes))
	}
}

// rolloutHolds adds the gauge of each kind of hold of rollouts. The label is constant, since the controller of placements reports
// the other kinds of the metric. Each scrape calls read.
func rolloutHolds(set *telemetry.Set, read func() State) {
	for _, kind := range hold.RolloutTypes() {
		set.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: hold.MetricName, Help: hold.MetricHelp,
			ConstLabels: prometheus.Labels{"kind": string(kind)},
		},
			func() float64 { return float64(read().Holds[kind]) }))
	}
}

// observe records what the metrics report of a plan.
func (s *setState) observe(out plan.Result, held int) {
	state := State{Held: held, Holds: map[hold.Type]int{}}
	for _, h := range report.Holds(&workv1alpha1.ManifestWorkReplicaSet{Status: out.Status}) {
		state.Holds[h.Type]++
	}
	for _, step := range out.Rollouts {
		state.AddRollout(step.Phase)
	}
	for _, verdict := range out.Verdicts {
		if verdict.Placement != "" {
			state.AddCluster(verdict.State)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = state
}

// deliveryState adds up what was recorded of all sets.
func (r *reconciler) deliveryState() State {
	out := State{Holds: map[hold.Type]int{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sets {
		s.mu.Lock()
		out.Add(s.observed.RolloutState)
		out.Held += s.observed.Held
		for kind, count := range s.observed.Holds {
			out.Holds[kind] += count
		}
		s.mu.Unlock()
	}
	return out
}
