package selection

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// Selected returns the IDs of the chosen clusters, by name.
func (r *Ranking) Selected() []fleet.ID {
	out := make([]fleet.ID, 0, len(r.Chosen))
	for _, i := range r.Chosen {
		out = append(out, r.Candidates[i])
	}
	return out
}

// Beaten says whether the cluster is a candidate that was not chosen.
func (r *Ranking) Beaten(id fleet.ID) bool {
	i, candidate := slices.BinarySearch(r.Candidates, id)
	return candidate && (r.last < 0 || r.order.compare(i, r.last) > 0)
}

// Rank returns where a candidate stands. It looks at every candidate.
func (r *Ranking) Rank(id fleet.ID) verdict.Rank {
	i, _ := slices.BinarySearch(r.Candidates, id)
	return verdict.Rank{Position: r.Position(i), Score: r.Totals[i], Cut: r.Cut, Demoted: r.order.demoted[i]}
}
