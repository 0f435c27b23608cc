package filter

import (
	"cmp"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Tiered is what the tiers said.
type Tiered struct {
	// In holds the clusters that pass. It is read-only: where nobody falls it may be the set that Tiers was given.
	In *bitset.BitSet
	// Fell holds the clusters that passed the predicates and are in no tier.
	Fell *bitset.BitSet
	// Held names the clusters that are in their tier only because they were selected before and an expression of it ran
	// over its cost limit on them, each with the problem.
	Held map[fleet.ID]string
	// Guests are those of Held that no tier would have as newcomers.
	Guests *bitset.BitSet
	// Dead names the first expression that failed on every cluster it was evaluated on, or at which the expressions had
	// cost more than they may; empty where none did. Nothing can be decided by it.
	Dead string
	// Asked are the scores that expressions asked for.
	Asked Asked

	// tiers are the clusters of each tier by what its predicate says. costly are those on which it was too costly to
	// tell, by the first tier where it was. held are in no tier and pass all the same.
	tiers  []*bitset.BitSet
	costly map[fleet.ID]hold
	held   *bitset.BitSet
}

// hold is a tier on which an expression was too costly, and the problem.
type hold struct {
	tier    int
	problem string
}

// Tiers puts every cluster of in, which are those that passed the predicates and those of held, into the first tier that
// matches it, and leaves out those that are in none. It reads what predicates read, within the cost that they left. An
// incumbent on which an expression is too costly is in that tier and held; a newcomer is in the next that matches.
// Whoever it is, the later tiers are tried on it, so that neither the cost nor any other cluster's tier depends on who
// is selected. The clusters of held, whose set cannot be read, are incumbents, and pass where no tier matches them too.
func Tiers(p *program.Program, after *Matched, in, held *bitset.BitSet) Tiered {
	if len(p.Tiers) == 0 {
		nobody := after.evaluation.snapshot.Nobody()
		return Tiered{In: in, Fell: nobody, Guests: nobody, held: held}
	}
	return tiers(p, after, in, held)
}

func tiers(p *program.Program, after *Matched, in, held *bitset.BitSet) Tiered {
	out := Tiered{Guests: &bitset.BitSet{}, held: held, Held: map[fleet.ID]string{}, costly: map[fleet.ID]hold{}}
	left := in.Clone()
	for i, tier := range p.Tiers {
		matching := left.Clone()
		fell := after.evaluation.Narrow(tier.Predicate, matching, &out.Asked)
		out.Dead = cmp.Or(out.Dead, fell.Dead("tiers", i))
		for id, problem := range fell.TooCostly() {
			if _, before := out.costly[id]; !before {
				out.costly[id] = hold{i, problem}
			}
		}
		out.tiers = append(out.tiers, matching)
		left.InPlaceDifference(matching)
		if after.evaluation.Exceeded() {
			break
		}
	}
	for id, why := range out.costly {
		if !after.incumbents.Test(id) {
			continue
		}
		out.Held[id] = why.problem
		out.Guests.SetTo(id, left.Test(id))
		left.Clear(id)
	}
	out.Fell = left.Difference(held)
	out.In = in.Difference(out.Fell)
	return out
}

// Of returns the tier of a cluster that passed the predicates, as it is where the cluster is an incumbent and where it
// is not. Ok is false where it would be in none. Without tiers all are in tier 0; a cluster that passes though no tier
// matches it is in the one after the last.
func (t *Tiered) Of(id fleet.ID, incumbent bool) (tier int, ok bool) {
	if len(t.tiers) == 0 {
		return 0, true
	}
	if why, costly := t.costly[id]; costly && incumbent {
		return why.tier, true
	}
	for i, in := range t.tiers {
		if in.Test(id) {
			return i, true
		}
	}
	return len(t.tiers), t.held.Test(id)
}
