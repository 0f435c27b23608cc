package explain

import (
	"cmp"
	"slices"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// explainer is a run with indexes for the lookup of many clusters.
type explainer struct {
	result *engine.Result
	trace  *engine.Trace
	// positions are the positions of candidates in the lists of the ranking, ranks their ranks, from 1.
	positions, ranks map[fleet.ID]int
	// incumbents are the clusters that were selected before.
	incumbents map[fleet.ID]bool
	// last is the selected cluster that ranks last; nil if no cluster is selected.
	last *Ranked
	// groups has the group of each selected cluster.
	groups map[string]Group
}

func newExplainer(result *engine.Result) *explainer {
	r := &explainer{
		result: result, trace: result.Trace, groups: map[string]Group{},
		positions: map[fleet.ID]int{}, ranks: map[fleet.ID]int{}, incumbents: map[fleet.ID]bool{},
	}
	for id := range r.trace.Snapshot.Incumbents(result.Key).All() {
		r.incumbents[id] = true
	}
	for index, group := range result.Groups {
		for _, slice := range group.Slices {
			for _, name := range slice.Clusters {
				r.groups[name] = Group{Index: index, Name: group.Name}
			}
		}
	}
	ranking := r.trace.Ranking
	if ranking == nil {
		return r
	}
	for i, id := range ranking.Order() {
		r.ranks[id] = i + 1
	}
	for i, id := range ranking.Candidates {
		r.positions[id] = i
	}
	if id, ok := ranking.Last(); ok {
		r.last = &Ranked{Cluster: r.trace.Snapshot.Name(id), Total: ranking.Cut, Rank: r.ranks[id]}
	}
	return r
}

func (e *explainer) prioritizers() []Prioritizer {
	if e.trace.Program == nil {
		return nil
	}
	var out []Prioritizer
	for _, by := range e.trace.Program.Prioritizers {
		out = append(out, Prioritizer{Name: by.Name(), Weight: by.Weight})
	}
	return out
}

// clustersByName returns all clusters by name.
func (e *explainer) clustersByName() []fleet.ID {
	var out []fleet.ID
	for id := range e.trace.Snapshot.Clusters() {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b fleet.ID) int {
		return cmp.Compare(e.trace.Snapshot.Name(a), e.trace.Snapshot.Name(b))
	})
	return out
}
