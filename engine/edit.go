package engine

import (
	"fmt"
	"time"

	"github.com/bits-and-blooms/bitset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
	"github.com/berth-project/berth/engine/internal/group"
	"github.com/berth-project/berth/engine/ledger"
)

// holdEmptyingEdit holds an edit that would leave a placement without clusters, where the hub has that rule: what is selected stays, and
// nothing else is selected. A cluster leaves that the namespace may no longer use, or that has a taint which the new spec does not
// tolerate, unless a brake stops that. An edit is recognised from what is stored: the last decision was made for another spec. The edit is
// followed once it is confirmed, or once it takes no cluster away: facts that come back one by one end no hold for all of them. A spec with
// numberOfClusters 0 means it.
func holdEmptyingEdit(decided *Result, past ledger.Ledger) *Result {
	t := decided.Trace
	s := t.Snapshot
	holds := s.Rules.HoldEmptyingEdits || s.Rules.KeepHeldEdits && past.EditHeld
	if !holds || !decided.Decided || decided.Selected > 0 && !past.EditHeld || past.SameSpec || past.Confirmed ||
		t.Program.Limited && t.Program.Wanted == 0 {
		return decided
	}
	incumbents := incumbentsOf(s, decided.Key)
	reachable := reachable(s, decided.Key.Namespace, nil, incumbents)
	stay := filter.Taints(s, t.Program, incumbents.Intersection(reachable.candidates), incumbents).In
	for name := range past.BrakedBefore {
		if id, known := s.ID(name); known && incumbents.Test(id) && reachable.candidates.Test(id) {
			stay.Set(id)
		}
	}
	fell := incumbents.Difference(reachable.candidates)
	s.ClustersWith(fleet.TermTerminating).RemoveFrom(fell)
	retained := s.Retained(fell) // the set of a held edit may be withdrawn for a moment too
	if retained != nil {
		stay.InPlaceUnion(retained)
	}
	if stay.Difference(t.chosen()).None() {
		return decided
	}
	slices := s.Slices(decided.Key)
	out := &Result{
		Key:           decided.Key,
		Groups:        group.Keep(s, slices, stay),
		Fingerprint:   fingerprint(slices),
		Selected:      int(stay.Count()),
		Satisfied:     unsatisfied(clusterv1beta1.ReasonNotAllDecisionsScheduled, "Nothing is decided while the last edit is held"),
		Misconfigured: decided.Misconfigured,
		EditHeld: Condition{
			Type: clusterv1beta1.PlacementConditionEditHeld, Status: metav1.ConditionTrue, Reason: clusterv1beta1.ReasonEmptiesPlacement,
			Message: truncated(fmt.Sprintf("The last edit leaves %s of %d selected ManagedClusters (%s), so they stay and nothing "+
				"else is selected. To call it off, undo the edit. To let them leave: kubectl berth holds release placement/%s -n %s --reason WHY",
				countOrNone(stay.Intersection(t.chosen())), stay.Count(), decided.Satisfied.Message, decided.Key.Name, decided.Key.Namespace)),
		},
		RecheckAt: decided.RecheckAt,
		Trace:     &Trace{Snapshot: s, scope: reachable, kept: stay},
	}
	if retained != nil && retained.Any() {
		out.recheckBy(s.Retention.Until)
		out.Retained = t.names(retained)
	}
	return out
}

// recheckBy makes the placement be decided again at an instant, at the latest.
func (r *Result) recheckBy(at time.Time) {
	if r.RecheckAt.IsZero() || at.Before(r.RecheckAt) {
		r.RecheckAt = at
	}
}

func countOrNone(of *bitset.BitSet) string {
	if of.None() {
		return "none"
	}
	return fmt.Sprint(of.Count())
}
