package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/rollout"
)

// The results of a write of a work.
const (
	WorkStored   = "stored"
	WorkConflict = "conflict"
	WorkRefused  = "refused"
	WorkFailed   = "failed"
)

// DeliveryState is what the sets of works of a hub do: numbers of rollouts, of clusters and of held specs.
type DeliveryState struct {
	RolloutState

	// Held counts the clusters whose spec waits for the pace of the hub.
	Held int
	// Holds counts what is held back until a person ends it.
	Holds map[hold.Type]int
}

// Deliveries are the metrics of the controller of sets of works.
type Deliveries struct {
	writes *prometheus.CounterVec
	bytes  prometheus.Counter
}

// NewDeliveries registers the metrics, with every series at 0. It must be called once per registry. Each scrape calls read.
func NewDeliveries(registry prometheus.Registerer, read func() DeliveryState) *Deliveries {
	c := &metricSet{}
	out := newDeliveries(c, read)
	registry.MustRegister(c.collectors...)
	for _, verb := range plan.Verbs() {
		for _, result := range workResults() {
			out.writes.WithLabelValues(verb.String(), result)
		}
	}
	return out
}

// WorkResult returns the value of the label result for the outcome of a write. Refused means that the API server refuses the object.
func WorkResult(err error, refused bool) string {
	switch {
	case err == nil:
		return WorkStored
	case apierrors.IsConflict(err):
		return WorkConflict
	case refused:
		return WorkRefused
	default:
		return WorkFailed
	}
}

func workResults() []string { return []string{WorkStored, WorkConflict, WorkRefused, WorkFailed} }

func newDeliveries(c *metricSet, read func() DeliveryState) *Deliveries {
	c.scraped("berth_rollouts", "Rollouts of ManifestWorkReplicaSets, one for each placement of a set, by phase.", func(set emit) {
		state := read()
		for _, phase := range rollout.Phases() {
			set(float64(state.Rollouts[phase]), string(phase))
		}
	}, Label{Name: "phase", Values: texts(rollout.Phases())})
	c.scraped("berth_delivery_clusters", "Clusters that the placements of ManifestWorkReplicaSets select, by how far the template has come there. A cluster counts once for each set.",
		func(set emit) {
			state := read()
			for _, at := range rollout.States() {
				set(float64(state.Clusters[at]), string(at))
			}
		}, Label{Name: "state", Values: texts(rollout.States())})
	c.scraped("berth_delivery_held", "Clusters whose ManifestWork waits because --fanout-bytes is used up.", func(set emit) { set(float64(read().Held)) })
	rolloutHolds(c, read)
	return &Deliveries{
		writes: c.counter("berth_work_writes_total",
			"Attempted writes of the ManifestWorks of sets, by verb and result: stored, conflict (another client wrote first), refused (the API server refuses the work) or failed.",
			Label{Name: "verb", Values: texts(plan.Verbs())}, Label{Name: "result", Values: workResults()}),
		bytes: c.counter("berth_work_bytes_total", "Bytes of the manifests that were stored in ManifestWorks of sets.").WithLabelValues(),
	}
}

func texts[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, string(value))
	}
	return slices.Clip(out)
}

// AddWrite counts an attempted write of a work, and its bytes if it was stored.
func (d *Deliveries) AddWrite(verb plan.Verb, result string, bytes int) {
	d.writes.WithLabelValues(verb.String(), result).Inc()
	if result == WorkStored {
		d.bytes.Add(float64(bytes))
	}
}
