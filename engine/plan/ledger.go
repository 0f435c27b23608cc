package plan

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/ledger"
)

// ReadLedger returns the ledger that is stored with a placement.
func ReadLedger(stored *clusterv1beta1.Placement) ledger.Ledger {
	satisfied := meta.FindStatusCondition(stored.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	out := ledger.Ledger{
		SameSpec:  satisfied != nil && satisfied.ObservedGeneration == stored.Generation,
		Confirmed: clusterv1beta1.EmptyingConfirmed(stored),

		FailingReleased: clusterv1beta1.ExpressionsReleased(stored),

		ReferencesConfirmed: clusterv1beta1.ReferencesConfirmed(stored),
	}
	if found := meta.FindStatusCondition(stored.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured); found != nil &&
		found.ObservedGeneration == stored.Generation &&
		(found.Reason == clusterv1beta1.ReasonUnknownReference || found.Reason == clusterv1beta1.ReasonReferenceHeld) {
		out.UnknownReferences, out.ReferenceHeld = found.Message, found.Reason == clusterv1beta1.ReasonReferenceHeld
	}
	found := meta.FindStatusCondition(stored.Status.Conditions, clusterv1beta1.PlacementConditionEditHeld)
	out.EditHeld = found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == stored.Generation
	if disruption := stored.Status.Disruption; disruption != nil {
		for _, spent := range disruption.Spent {
			out.Removals = append(out.Removals, ledger.Removal{At: spent.At.Time, Count: int(spent.Count)})
		}
		out.Releasing = slices.Compact(slices.Sorted(slices.Values(disruption.Releasing)))
		out.Held = readSince(disruption.Held)
	}
	if failback := stored.Status.Failback; failback != nil {
		out.Waiting = readSince(failback.Waiting)
	}
	return out
}

// readSince returns the instant of each cluster, the earliest of several. An entry without an instant is ignored.
func readSince(in []clusterv1beta1.ClustersSince) map[string]time.Time {
	out := map[string]time.Time{}
	for _, since := range in {
		if since.Since.IsZero() {
			continue
		}
		for _, name := range since.Clusters {
			if at, known := out[name]; !known || since.Since.Time.Before(at) {
				out[name] = since.Since.Time
			}
		}
	}
	return out
}

// budgetUpdate returns the placement with the clusters that the result charges to the budget, and whether it must be stored
// before they are removed. It must also be stored if another cluster is charged in the stored status: that cluster could
// otherwise be removed later without the budget.
func budgetUpdate(result *engine.Result, stored *clusterv1beta1.Placement, dropped Dropped) (pledged *clusterv1beta1.Placement, due bool) {
	before := stored.Status.Disruption
	if before == nil {
		before = &clusterv1beta1.DisruptionStatus{}
	}
	after := disruption(result.Ledger, result.Ledger.Releasing, before.Held)
	if after == nil {
		after = &clusterv1beta1.DisruptionStatus{}
	}
	if !result.Decided || len(before.Releasing)+len(after.Releasing) == 0 || equality.Semantic.DeepEqual(before, after) {
		return nil, false
	}
	out := stored.DeepCopy()
	out.Status.Disruption = disruption(result.Ledger, result.Ledger.Releasing, before.Held)
	dropped.placement(&out.Status)
	return out, !equality.Semantic.DeepEqual(out.Status, stored.Status)
}

// disruption returns the status of a disruption policy; nil if it is empty.
func disruption(of ledger.Ledger, releasing []string, held []clusterv1beta1.ClustersSince) *clusterv1beta1.DisruptionStatus {
	out := &clusterv1beta1.DisruptionStatus{Releasing: releasing, Held: held}
	for _, spent := range of.Removals {
		out.Spent = append(out.Spent, clusterv1beta1.DisruptionSpent{
			At: metav1.NewTime(spent.At), Count: int32(min(spent.Count, math.MaxInt32)), //nolint:gosec // it is bounded
		})
	}
	if len(out.Spent)+len(out.Releasing)+len(out.Held) == 0 {
		return nil
	}
	return out
}

// failback returns the status of a failback policy; nil if no cluster waits.
func failback(of ledger.Ledger) *clusterv1beta1.FailbackStatus {
	if len(of.Waiting) == 0 {
		return nil
	}
	return &clusterv1beta1.FailbackStatus{Waiting: sinceList(of.Waiting)}
}

// sinceList returns clusters by their instant, then by name.
func sinceList(in map[string]time.Time) []clusterv1beta1.ClustersSince {
	names := slices.SortedFunc(maps.Keys(in), func(a, b string) int {
		return cmp.Or(in[a].Compare(in[b]), cmp.Compare(a, b))
	})
	var out []clusterv1beta1.ClustersSince
	for _, name := range names {
		if last := len(out) - 1; last >= 0 && out[last].Since.Time.Equal(in[name]) {
			out[last].Clusters = append(out[last].Clusters, name)
			continue
		}
		out = append(out, clusterv1beta1.ClustersSince{Since: metav1.NewTime(in[name]), Clusters: []string{name}})
	}
	return out
}
