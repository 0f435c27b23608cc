package wake

import (
	"fmt"
	"testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// TestRemoveLeavesNothing adds placements with all kinds of dependencies, changes their sets and removes them in mixed order.
func TestRemoveLeavesNothing(t *testing.T) {
	x := NewIndex()
	s := snapshotWith("one", "two")
	var keys []fleet.Key
	for n := range 60 {
		key := fleet.Key{Namespace: fmt.Sprintf("ns-%d", n%3), Name: fmt.Sprint(n)}
		keys = append(keys, key)
		x.Put(s, key, programOfKind(n))
	}
	s = snapshotWith("one", "three")
	for n, key := range keys[:40] {
		x.Put(s, key, programOfKind(n/2))
	}
	if got := len(x.ByNamespace("ns-1")); x.Len() != 60 || got != 20 {
		t.Fatalf("%d placements, %d in a namespace, want 60 and 20", x.Len(), got)
	}
	for n := range keys {
		x.Remove(keys[n*7%60])
	}
	x.Remove(keys[0])
	for what, left := range map[string]int{
		"placements": x.Len(), "namespaces": len(x.namespaces), "bindings": len(x.namespacesBySet), "sets": len(x.sets),
		"scopes": len(x.scopes), "subscriptions": len(x.subscriptions), "facts": len(x.facts.byKey), "scores": len(x.scores),
		"unguarded subscriptions": len(x.unguarded), "subscriptions of cpu": len(x.cpu), "subscriptions of memory": len(x.memory),
		"subscriptions that count removals": len(x.countsRemovals),
		"subscriptions of labels":           len(x.facets.get(fleet.FacetLabels)),
	} {
		if left != 0 {
			t.Errorf("%d %s are left", left, what)
		}
	}
}

// snapshotWith returns an empty fleet in which three namespaces bind the sets.
func snapshotWith(sets ...string) *fleet.Snapshot {
	edit := fleet.Empty().Edit()
	for _, name := range sets {
		set := &clusterv1beta2.ManagedClusterSet{}
		set.Name = name
		edit.SetSet(fleet.NewSet(set))
		for n := range 3 {
			edit.Bind(fmt.Sprintf("ns-%d", n), name)
		}
	}
	return edit.Snapshot()
}

// programOfKind returns one of six programs with different dependencies. One is nil.
func programOfKind(n int) *program.Program {
	out := &program.Program{}
	switch n % 6 {
	case 0:
		return nil
	case 1:
		out.Budget = &program.Budget{Percent: true}
	case 2:
		out.Spread = []program.Constraint{{Topology: program.Topology{Source: fleet.Label, Key: "zone"}}}
	case 3:
		out.Prioritizers = []program.Prioritizer{
			{Kind: program.AddOn, Resource: fmt.Sprint(n)},
			{Kind: program.AllocatableCPU},
			{Kind: program.AllocatableMemory},
		}
	case 4:
		selector, _ := fleet.NameSelector([]string{"a", fmt.Sprint(n)}, nil)
		out.Predicates = []program.Predicate{{Selector: selector}, {Selector: selector}}
	default:
		out.ClusterSets = []string{"two"}
	}
	return out
}
