package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/rollout"
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
	set := &Set{}
	out := newDeliveries(set, read)
	set.Register(registry)
	for _, verb := range plan.Verbs() {
		for _, result := range WorkResults() {
			out.writes.WithLabelValues(verb.String(), result)
		}
	}
	return out
}

func newDeliveries(set *Set, read func() DeliveryState) *Deliveries {
	set.Scraped("berth_rollouts", "Rollouts of ManifestWorkReplicaSets, one for each placement of a set, by phase.", func(emit Emit) {
		state := read()
		for _, phase := range rollout.Phases() {
			emit(float64(state.Rollouts[phase]), string(phase))
		}
	}, Label{Name: "phase", Values: Texts(rollout.Phases())})
	set.Scraped("berth_delivery_clusters", "Clusters that the placements of ManifestWorkReplicaSets select, by how far the template has come there. A cluster counts once for each set.",
		func(emit Emit) {
			state := read()
			for _, at := range rollout.States() {
				emit(float64(state.Clusters[at]), string(at))
			}
		}, Label{Name: "state", Values: Texts(rollout.States())})
	set.Scraped("berth_delivery_held", "Clusters whose ManifestWork waits because --fanout-bytes is used up.", func(emit Emit) { emit(float64(read().Held)) })
	rolloutHolds(set, read)
	return &Deliveries{
		writes: set.Counter("berth_work_writes_total",
			"Attempted writes of the ManifestWorks of sets, by verb and result: stored, conflict (another client wrote first), refused (the API server refuses the work) or failed.",
			Label{Name: "verb", Values: Texts(plan.Verbs())}, Label{Name: "result", Values: WorkResults()}),
		bytes: set.Counter("berth_work_bytes_total", "Bytes of the manifests that were stored in ManifestWorks of sets.").WithLabelValues(),
	}
}

// AddWrite counts an attempted write of a work, and its bytes if it was stored.
func (d *Deliveries) AddWrite(verb plan.Verb, result string, bytes int) {
	d.writes.WithLabelValues(verb.String(), result).Inc()
	if result == WorkStored {
		d.bytes.Add(float64(bytes))
	}
}
