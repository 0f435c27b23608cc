package placementapi

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/internal/placement/history"
)

// debugReport is the response of OCM's debug server for one run, followed by the fields that Berth adds. Clusters are sorted by
// name, and by score in Aggregated.
type debugReport struct {
	Placement  *clusterv1beta1.Placement `json:"placement"`
	Filtered   []filterResult            `json:"filteredPipelineResults"`
	Scored     []prioritizerResult       `json:"prioritizeResults"`
	Aggregated []aggregatedScore         `json:"aggregatedScores"`

	Decided    bool                `json:"decided"`
	Selected   int                 `json:"selected"`
	Conditions []explain.Condition `json:"conditions"`
	Stale      string              `json:"stale,omitempty"`
	Verdicts   []explain.Cluster   `json:"verdicts"`
	Hidden     int                 `json:"hidden,omitempty"`
}

// filterResult is the clusters that passed a list of filters.
type filterResult struct {
	Name     string   `json:"name"`
	Clusters []string `json:"filteredClusters"`
}

// prioritizerResult is the scores of one prioritizer.
type prioritizerResult struct {
	Name   string           `json:"name"`
	Weight int64            `json:"weight"`
	Scores map[string]int64 `json:"scores"`
}

type aggregatedScore struct {
	Cluster string `json:"clusterName"`
	Score   int64  `json:"score"`
}

func newDebugReport(answer *history.Explanation, sees func(string) bool) *debugReport {
	shown := answer.Explanation(sees)
	out := &debugReport{
		Placement: trimmedPlacement(answer.Placement), Filtered: []filterResult{}, Scored: []prioritizerResult{}, Aggregated: []aggregatedScore{},
		Decided: shown.Decided, Selected: shown.Selected, Conditions: shown.Conditions, Stale: shown.Stale,
		Verdicts: shown.Clusters, Hidden: shown.Hidden,
	}
	if !shown.Decided {
		return out
	}
	out.addFilterResults(len(answer.Placement.Spec.Tiers) > 0)
	out.addScores(shown.Prioritizers)
	return out
}

// trimmedPlacement returns the parts of a placement that the debug server shows.
func trimmedPlacement(in *clusterv1beta1.Placement) *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{TypeMeta: in.TypeMeta, Spec: in.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: in.Namespace, Name: in.Name, Labels: in.Labels, Annotations: in.Annotations,
	}}
	out.APIVersion, out.Kind = clusterv1beta1.SchemeGroupVersion.String(), "Placement"
	return out
}

// addFilterResults adds the clusters that passed each filter. Its name lists all filters so far.
func (d *debugReport) addFilterResults(tiered bool) {
	stages := []struct {
		name    string
		applies bool
		drops   []verdict.Code
	}{
		{"Predicate", true, []verdict.Code{verdict.OutsideSets, verdict.Withdrawing, verdict.Terminating, verdict.Mismatch, verdict.TooCostly}},
		{"Tiers", tiered, []verdict.Code{verdict.OutsideTiers}},
		{"TaintToleration", true, []verdict.Code{verdict.Tainted, verdict.Expired}},
	}
	left, name := d.Verdicts, ""
	for _, stage := range stages {
		if !stage.applies {
			continue
		}
		if name != "" {
			name += ","
		}
		name += stage.name
		left = slices.DeleteFunc(slices.Clone(left), func(c explain.Cluster) bool {
			return slices.ContainsFunc(stage.drops, func(code verdict.Code) bool {
				return code.String() == cmp.Or(c.Underlying, c.Verdict) // a held cluster was rejected too
			})
		})
		out := filterResult{Name: name, Clusters: []string{}}
		for _, cluster := range left {
			out.Clusters = append(out.Clusters, cluster.Name)
		}
		d.Filtered = append(d.Filtered, out)
	}
}

// addScores adds the scores of the candidates.
func (d *debugReport) addScores(prioritizers []explain.Prioritizer) {
	for i, by := range prioritizers {
		out := prioritizerResult{Name: by.Name, Weight: by.Weight, Scores: map[string]int64{}}
		for _, cluster := range d.Verdicts {
			if cluster.Rank > 0 {
				out.Scores[cluster.Name] = cluster.Scores[i].Value
			}
		}
		d.Scored = append(d.Scored, out)
	}
	for _, cluster := range d.Verdicts {
		if cluster.Rank > 0 {
			d.Aggregated = append(d.Aggregated, aggregatedScore{cluster.Name, cluster.Total})
		}
	}
	slices.SortStableFunc(d.Aggregated, func(a, b aggregatedScore) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Cluster, b.Cluster))
	})
}
