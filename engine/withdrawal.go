package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
)

// findStanding finds the incumbents with a label or claim that is being withdrawn and that qualify by what the API server has. They are
// candidates, and do not leave when the grace ends. So a label and the placements that select by it may change in any order.
func (t *Trace) findStanding(incumbents *bitset.BitSet) {
	withdrawing := t.Snapshot.ClustersWith(fleet.TermWithdrawing)
	if withdrawing.Count() == 0 {
		return
	}
	moving := withdrawing.BitSet().Intersection(incumbents)
	if moving.None() {
		return
	}
	stored := t.Snapshot.AsStored(moving)
	reached := reachable(stored, t.Program.Key.Namespace, t.Program.ClusterSets, incumbents)
	hold := t.hold
	hold.Snapshot = stored
	found := filter.Predicates(t.Program, reached.readable().Intersection(moving), hold)
	if found.FailsEverywhere != "" {
		return
	}
	t.standing = found.In.Union(reached.held.Intersection(moving))
	t.scope.candidates.InPlaceUnion(t.standing)
	t.scope.leaving = t.scope.leaving.Difference(t.standing.Difference(reached.leaving))
}

// retain keeps incumbents that fell while the grace after a start lasts, where the placement has not changed since they were selected.
func (t *Trace) retain(incumbents *bitset.BitSet) {
	fell := incumbents.Difference(t.matched.In.Intersection(t.scope.candidates)).Difference(t.standing)
	t.Snapshot.ClustersWith(fleet.TermTerminating).RemoveFrom(fell)
	if kept := t.Snapshot.Retained(fell); kept != nil {
		t.retained = kept
		t.scope.candidates.InPlaceUnion(kept)
	}
}

// placesKept returns the candidates that stay whatever their rank while the grace after a start lasts; nil without it. What a cluster is
// ranked by may have gone while no manager ran, and may decide only once its rivals are back. So these are all incumbents.
func (t *Trace) placesKept(incumbents *bitset.BitSet) *bitset.BitSet {
	if !t.hold.Past.SameSpec || !t.Snapshot.Now.Before(t.Snapshot.Retention.Until) {
		return nil
	}
	return incumbents.Intersection(t.tolerated.In)
}

// groupsKept returns the incumbents that stay in their groups while the grace after a start lasts; nil without it.
func (t *Trace) groupsKept(incumbents *bitset.BitSet) *bitset.BitSet {
	if !t.hold.Past.SameSpec {
		return nil
	}
	return t.Snapshot.Retained(incumbents)
}

// retainedNames returns the clusters that stay, or stay in their groups, because of the grace after a start, by name.
func (t *Trace) retainedNames() []string {
	if len(t.inGroups) == 0 {
		return t.names(t.retained)
	}
	out := append(t.names(t.retained), t.inGroups...)
	slices.Sort(out)
	return slices.Compact(out)
}

// withdrawal returns by what withdrawal a selected cluster leaves once the grace has ended.
func (t *Trace) withdrawal(id fleet.ID) string {
	if t.retained.Test(id) {
		why := "the cluster no longer qualifies by its sets, labels or claims"
		if t.Ranking.Retained().Test(id) {
			why = "its place would go to another cluster by what changed meanwhile"
		}
		return "leaves at " + t.Snapshot.Retention.Until.UTC().Format(time.RFC3339) + ": the manager started a short time ago, and " + why
	}
	cluster := t.Snapshot.Cluster(id)
	var gone []string
	for _, name := range t.scope.eligible {
		set, _ := t.Snapshot.Set(name)
		if t.Snapshot.Withdrawing(t.Program.Key.Namespace, name) && set.Has(cluster) {
			gone = append(gone, "ManagedClusterSet "+name+" or its binding")
		}
	}
	if cluster.Withdrawing() {
		gone = append(gone, changedKeys("label", cluster.Object.Labels, cluster.Stored.Object.Labels)...)
		gone = append(gone, changedKeys("claim", cluster.Claims, cluster.Stored.Claims)...)
	}
	return "leaves when the grace has ended, unless this comes back as it was: " + strings.Join(gone, ", ")
}

// Barred returns the clusters that were no candidates because a label or claim of them is being withdrawn, by name.
func (t *Trace) Barred() []string {
	if t.scope.barred.None() {
		return nil
	}
	moving := t.scope.barred.Clone()
	t.Snapshot.ClustersWith(fleet.TermWithdrawing).IntersectInto(moving)
	return t.names(moving)
}

// names returns the names of clusters, sorted.
func (t *Trace) names(of *bitset.BitSet) []string {
	var out []string
	for id := range of.EachSet() {
		out = append(out, t.Snapshot.Name(id))
	}
	slices.Sort(out)
	return out
}

// changedKeys returns the keys whose values are no longer stored, each after what it is a key of.
func changedKeys(what string, counted, stored map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(counted)) {
		if value, there := stored[key]; !there || value != counted[key] {
			out = append(out, what+" "+key)
		}
	}
	return out
}
