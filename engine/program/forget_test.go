package program

import (
	"fmt"
	"testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// TestNothingIsLeftOfPlacementsThatAreGone puts placements of every kind of reading, again with other sets, and takes them out in
// an order of no meaning.
func TestNothingIsLeftOfPlacementsThatAreGone(t *testing.T) {
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
		"placements": x.Len(), "namespaces": len(x.namespaces), "bindings": len(x.namespacesBySet), "areas": len(x.sets),
		"scopes": len(x.scopes), "readers": len(x.subscriptions), "facts": len(x.facts.byKey), "scores": len(x.scores),
		"open readers": len(x.unguarded), "readers of cpu": len(x.cpu), "readers of memory": len(x.memory), "counting readers": len(x.countsRemovals),
		"readers of labels": len(x.facets.get(celenv.FacetLabels)),
	} {
		if left != 0 {
			t.Errorf("%d %s are left", left, what)
		}
	}
}

// snapshotWith returns a fleet of no cluster where three namespaces bind some sets.
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

// programOfKind returns one of some programs that read different things, nil among them.
func programOfKind(n int) *Program {
	out := &Program{}
	switch n % 6 {
	case 0:
		return nil
	case 1:
		out.Budget = &Budget{Percent: true}
	case 2:
		out.Spread = []Constraint{{Topology: Topology{Source: fleet.Label, Key: "zone"}}}
	case 3:
		out.Prioritizers = []Prioritizer{{Kind: AddOn, Resource: fmt.Sprint(n)}, {Kind: AllocatableCPU}, {Kind: AllocatableMemory}}
	case 4:
		selector, _ := fleet.NameSelector([]string{"a", fmt.Sprint(n)}, nil)
		out.Predicates = []Predicate{{Selector: selector}, {Selector: selector}}
	default:
		out.ClusterSets = []string{"two"}
	}
	return out
}
