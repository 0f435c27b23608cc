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

// Beaten returns where a candidate that was not chosen stands. Beaten is false for one that was chosen and for a
// cluster that is no candidate.
func (r *Ranking) Beaten(id fleet.ID) (rank verdict.Rank, beaten bool) {
	i, candidate := slices.BinarySearch(r.Candidates, id)
	if !candidate {
		return verdict.Rank{}, false
	}
	position := r.Position(i)
	if position <= len(r.Chosen) {
		return verdict.Rank{}, false
	}
	return verdict.Rank{Position: position, Score: r.Totals[i], Cut: r.Cut}, true
}
