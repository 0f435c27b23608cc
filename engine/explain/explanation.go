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

// Explanation is the result of one run of a placement, with a reason for every cluster that the reader may see.
type Explanation struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Generation is the generation of the placement; 0 if it has none, as in a file.
	Generation int64 `json:"generation,omitempty"`
	// DecidedAt is the instant of the run.
	DecidedAt time.Time `json:"decidedAt"`
	// Replayed is set if the original run is no longer available, or had other clusters than there are now, and the explanation is of a new
	// run. A new run without a changed object selects the same clusters.
	Replayed bool `json:"replayed,omitempty"`
	// Stale is how the stored decisions differ from the run, that the placement has changed since, or that nothing is decided now; empty if
	// they are the same.
	Stale string `json:"stale,omitempty"`
	// Decided is false if the run kept the previous decisions.
	Decided bool `json:"decided"`
	// Wanted is spec.numberOfClusters; absent if every cluster is wanted.
	Wanted *int `json:"wanted,omitempty"`
	// Selected is the number of selected clusters, including hidden ones.
	Selected   int         `json:"selected"`
	Conditions []Condition `json:"conditions"`
	// MissingSets are the sets that the placement cannot choose from, by name.
	MissingSets []MissingSet `json:"missingSets,omitempty"`
	// Prioritizers are in the order of Cluster.Scores.
	Prioritizers []Prioritizer `json:"prioritizers,omitempty"`
	// Cut is the selected cluster that ranks last; absent if no cluster is selected or the reader may not see it.
	Cut *Ranked `json:"cut,omitempty"`
	// Clusters are sorted by name.
	Clusters []Cluster `json:"clusters"`
	// Hidden counts the clusters that the reader may not see.
	Hidden int `json:"hidden,omitempty"`
}

// Condition is a condition of the placement.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message,omitempty"`
}

// Prioritizer is a way to score clusters, with its weight.
type Prioritizer struct {
	Name   string `json:"name"`
	Weight int64  `json:"weight"`
}

// Ranked is a cluster with its total score and its rank, from 1.
type Ranked struct {
	Cluster string `json:"cluster"`
	Total   int64  `json:"total"`
	Rank    int    `json:"rank"`
}

// Of explains a run to a reader who may see some of the clusters; nil allows all.
func Of(result *engine.Result, placement *clusterv1beta1.Placement, visible func(cluster string) bool) Explanation {
	out := Explanation{
		Kind: Kind, Namespace: result.Key.Namespace, Name: result.Key.Name, Generation: placement.Generation,
		DecidedAt: result.Trace.Snapshot.Now, Decided: result.Decided, Selected: result.Selected,
		Clusters: []Cluster{},
	}
	if wanted := placement.Spec.NumberOfClusters; wanted != nil {
		out.Wanted = new(int(*wanted))
	}
	out.MissingSets = missingSets(result.Trace.Snapshot, result.Key.Namespace, placement.Spec.ClusterSets)
	r := newExplainer(result)
	out.Prioritizers = r.prioritizers()
	if visible == nil {
		visible = func(string) bool { return true }
	}
	out.Conditions = conditions(result, visible)
	if r.last != nil && visible(r.last.Cluster) {
		out.Cut = r.last
	}
	for _, id := range r.clustersByName() {
		name := r.trace.Snapshot.Name(id)
		if !visible(name) {
			out.Hidden++
			continue
		}
		out.Clusters = append(out.Clusters, r.cluster(id, visible))
	}
	return out
}

// One returns the explanation of one cluster, as Of has it. Ok is false if the run had no such cluster. It costs far less than Of.
func One(result *engine.Result, cluster string, visible func(cluster string) bool) (found Cluster, ok bool) {
	id, ok := result.Trace.Snapshot.ID(cluster)
	if !ok || result.Trace.Snapshot.Cluster(id) == nil {
		return Cluster{}, false
	}
	return newExplainer(result).cluster(id, visible), true
}

// conditions returns the conditions of the placement. They name only clusters that the reader may see.
func conditions(result *engine.Result, visible func(string) bool) []Condition {
	held, expired := result.Held, result.ScoresExpired
	if held.Type != "" {
		held = result.Trace.Held(visible)
	}
	if expired.Type != "" {
		expired = result.Trace.ScoresExpired(visible)
	}
	out := []Condition{}
	for _, c := range []engine.Condition{result.Satisfied, result.Misconfigured, result.EditHeld, held, expired, exceeded(result)} {
		if c.Type != "" {
			out = append(out, Condition(c))
		}
	}
	return out
}

// exceeded returns SpreadExceeded of a placement that exceeds a constraint; otherwise it is zero.
func exceeded(result *engine.Result) engine.Condition {
	if result.SpreadExceeded.Status != metav1.ConditionTrue {
		return engine.Condition{}
	}
	return result.SpreadExceeded
}

// Find returns the explanation of a cluster. Ok is false if the explanation does not have the cluster.
func (e *Explanation) Find(cluster string) (found *Cluster, ok bool) {
	for i := range e.Clusters {
		if e.Clusters[i].Name == cluster {
			return &e.Clusters[i], true
		}
	}
	return nil, false
}

// Chosen returns the selected clusters of the explanation, by name.
func (e *Explanation) Chosen() []string {
	var out []string
	for _, cluster := range e.Clusters {
		if cluster.Selected {
			out = append(out, cluster.Name)
		}
	}
	return out
}

// Key returns the key of the placement.
func (e *Explanation) Key() fleet.Key { return fleet.Key{Namespace: e.Namespace, Name: e.Name} }
