package explain

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// Kind is the kind of an Explanation.
const Kind = "PlacementExplanation"

// Explanation says what one run made of a placement, and why, for every cluster that its reader may see.
type Explanation struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Generation is that of the placement which was decided; 0 where it has none, as in a file.
	Generation int64 `json:"generation,omitempty"`
	// DecidedAt is the instant that the run decided for.
	DecidedAt time.Time `json:"decidedAt"`
	// Replayed says that the run which decided is not known any more, and this is one that was made for the answer. Since
	// deciding again without a changed fact moves nobody, it tells the same of everybody who is selected.
	Replayed bool `json:"replayed,omitempty"`
	// Stale says how what is stored differs from what the run selected, or that the placement has changed since; empty
	// where neither is so.
	Stale string `json:"stale,omitempty"`
	// Decided is false where the run kept what was decided before.
	Decided bool `json:"decided"`
	// Wanted is spec.numberOfClusters; absent where every cluster is wanted.
	Wanted *int `json:"wanted,omitempty"`
	// Selected is the number of clusters in the decisions, those that the reader may not see included.
	Selected   int         `json:"selected"`
	Conditions []Condition `json:"conditions"`
	// Prioritizers are what clusters are ranked by, in the order of Cluster.Scores.
	Prioritizers []Prioritizer `json:"prioritizers,omitempty"`
	// Cut is the cluster that was chosen last by the order of scores; absent where none was, or the reader may not see it.
	Cut *Ranked `json:"cut,omitempty"`
	// Clusters are by name.
	Clusters []Cluster `json:"clusters"`
	// Hidden counts the clusters that the reader may not see.
	Hidden int `json:"hidden,omitempty"`
}

// Condition is a condition as the run found it.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message,omitempty"`
}

// Prioritizer is a way to score, and how much it counts.
type Prioritizer struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight"`
}

// Ranked is a cluster with its total score and its place in the order of scores, from 1.
type Ranked struct {
	Cluster string `json:"cluster"`
	Total   int64  `json:"total"`
	Rank    int    `json:"rank"`
}

// Of explains a run to somebody who sees some of the clusters; nil stands for all.
func Of(result *engine.Result, placement *clusterv1beta1.Placement, sees func(cluster string) bool) Explanation {
	out := Explanation{
		Kind: Kind, Namespace: result.Key.Namespace, Name: result.Key.Name, Generation: placement.Generation,
		DecidedAt: result.Trace.Snapshot.Now, Decided: result.Decided, Selected: result.Selected,
		Clusters: []Cluster{},
	}
	if wanted := placement.Spec.NumberOfClusters; wanted != nil {
		out.Wanted = new(int(*wanted))
	}
	r := newExplainer(result)
	out.Prioritizers = r.prioritizers()
	if sees == nil {
		sees = func(string) bool { return true }
	}
	out.Conditions = conditions(result, sees)
	if r.last != nil && sees(r.last.Cluster) {
		out.Cut = r.last
	}
	for _, id := range r.clustersByName() {
		name := r.trace.Snapshot.Name(id)
		if !sees(name) {
			out.Hidden++
			continue
		}
		out.Clusters = append(out.Clusters, r.cluster(id, sees))
	}
	return out
}

// conditions returns the conditions that the placement has. The one that names clusters names those that the reader sees.
func conditions(result *engine.Result, sees func(string) bool) []Condition {
	held, expired := result.Held, result.ScoresExpired
	if held.Type != "" {
		held = result.Trace.Held(sees)
	}
	if expired.Type != "" {
		expired = result.Trace.ScoresExpired(sees)
	}
	out := []Condition{}
	for _, c := range []engine.Condition{result.Satisfied, result.Misconfigured, held, expired} {
		if c.Type != "" {
			out = append(out, Condition(c))
		}
	}
	return out
}

// Find returns what is said of a cluster. Ok is false where nothing is.
func (e *Explanation) Find(cluster string) (found *Cluster, ok bool) {
	for i := range e.Clusters {
		if e.Clusters[i].Name == cluster {
			return &e.Clusters[i], true
		}
	}
	return nil, false
}

// Chosen returns the names of the clusters that the explanation shows as selected, by name.
func (e *Explanation) Chosen() []string {
	var out []string
	for _, cluster := range e.Clusters {
		if cluster.Selected {
			out = append(out, cluster.Name)
		}
	}
	return out
}

// Key names the placement.
func (e *Explanation) Key() fleet.Key { return fleet.Key{Namespace: e.Namespace, Name: e.Name} }
