package filter

import (
	"cmp"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// TierResult is the result of the tiers.
type TierResult struct {
	// In holds the clusters that pass. It is read-only: if every cluster passes, it may be the set that Tiers was
	// given.
	In *bitset.BitSet
	// Rejected holds the clusters that passed the predicates and are in no tier.
	Rejected *bitset.BitSet
	// Held has the clusters that are in their tier only because they were selected before, and an expression of the tier
	// exceeded its cost limit on them or a claim or score is missing, each with the problem.
	Held map[fleet.ID]string
	// Failing has the incumbents that no tier matches because a claim or score is missing, each with the problem.
	Failing map[fleet.ID]string
	// RetainedOnly are the clusters of Held that are in no tier as newcomers.
	RetainedOnly *bitset.BitSet
	// FailsEverywhere names the first expression that failed on every cluster it was evaluated on, or at which the
	// expressions exceeded the cost limit. It is empty otherwise. If it is set, no decision is possible.
	FailsEverywhere string
	// ScoreReads are the scores that expressions read.
	ScoreReads ScoreReads

	// tiers are the clusters that the predicate of each tier matches. unknown are the clusters that a tier may
	// match, by the first such tier. held are in no tier and still pass.
	tiers   []*bitset.BitSet
	unknown map[fleet.ID]unknownTier
	held    *bitset.BitSet
}

// unknownTier is a tier that may match, and the problem.
type unknownTier struct {
	tier    int
	problem string
}

// Tiers puts every cluster of in into the first tier that matches it, and rejects the clusters that are in no tier. The
// clusters of in passed the predicates or are in held. Tiers reads what predicates read, within the rest of their cost
// limit. An incumbent on which an expression is too costly, or reads a claim or score that is missing, is in that tier and
// held; a newcomer is in the next tier that matches. The later tiers are evaluated on such a cluster in both cases. So neither the cost
// nor the tier of another cluster depends on which clusters are selected. The clusters of held are incumbents whose set cannot be read.
// They pass even if no tier matches them.
func Tiers(p *program.Program, after *PredicateResult, in, held *bitset.BitSet) TierResult {
	if len(p.Tiers) == 0 {
		empty := after.evaluation.snapshot.EmptySet()
		return TierResult{In: in, Rejected: empty, RetainedOnly: empty, held: held}
	}
	return assignTiers(p, after, in, held)
}

func assignTiers(p *program.Program, after *PredicateResult, in, held *bitset.BitSet) TierResult {
	out := TierResult{
		RetainedOnly: &bitset.BitSet{}, held: held, Held: map[fleet.ID]string{}, Failing: map[fleet.ID]string{},
		unknown: map[fleet.ID]unknownTier{},
	}
	left := in.Clone()
	for i, tier := range p.Tiers {
		matching := left.Clone()
		fell := after.evaluation.Filter(tier.Predicate, matching, &out.ScoreReads)
		out.FailsEverywhere = cmp.Or(out.FailsEverywhere, after.hold.failsEverywhere(&fell, "tiers", i))
		out.noteUnknown(i, &fell, tier.Predicate, after.hold)
		out.tiers = append(out.tiers, matching)
		left.InPlaceDifference(matching)
		if after.evaluation.Exceeded() {
			break
		}
	}
	for id := range out.Failing {
		if !left.Test(id) {
			delete(out.Failing, id)
		}
	}
	for id, why := range out.unknown {
		if !after.hold.Incumbents.Test(id) {
			continue
		}
		out.Held[id] = why.problem
		out.RetainedOnly.SetTo(id, left.Test(id))
		left.Clear(id)
	}
	out.Rejected = left.Difference(held)
	out.In = in.Difference(out.Rejected)
	return out
}

// noteUnknown records the clusters that a tier may match.
func (t *TierResult) noteUnknown(tier int, fell *Rejected, predicate program.Predicate, hold MissingHold) {
	note := func(id fleet.ID, problem string) {
		if _, before := t.unknown[id]; !before {
			t.unknown[id] = unknownTier{tier, problem}
		}
	}
	for id, problem := range fell.TooCostly() {
		note(id, problem)
	}
	failing := map[fleet.ID]string{}
	hold.incumbentsWithout(fell, predicate, failing)
	for id, problem := range failing {
		if _, known := t.Failing[id]; !known {
			t.Failing[id] = problem
		}
		if hold.stays(id) {
			note(id, problem)
		}
	}
}

// TierOf returns the tier of a cluster that passed the predicates, as an incumbent or as a newcomer. Ok is false if it is
// in no tier. Without tiers every cluster is in tier 0. A cluster that passes although no tier matches it is in the tier
// after the last.
func (t *TierResult) TierOf(id fleet.ID, incumbent bool) (tier int, ok bool) {
	if len(t.tiers) == 0 {
		return 0, true
	}
	if why, unknown := t.unknown[id]; unknown && incumbent {
		return why.tier, true
	}
	for i, in := range t.tiers {
		if in.Test(id) {
			return i, true
		}
	}
	return len(t.tiers), t.held.Test(id)
}
