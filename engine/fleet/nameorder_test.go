package fleet_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestNamesStayInOrder adds and removes clusters, so that IDs are reused, and reads small and large sets by name.
func TestNamesStayInOrder(t *testing.T) {
	s := fleet.Empty()
	known := map[string]bool{}
	for n := range 300 {
		e := s.Edit()
		name := fmt.Sprintf("c%03d", n*7919%1000)
		e.SetCluster(fleet.NewCluster(enginetest.Cluster(name).Obj()))
		known[name] = true
		if n%3 == 2 {
			gone := fmt.Sprintf("c%03d", n/2*7919%1000)
			e.DeleteCluster(gone)
			delete(known, gone)
		}
		s = e.Snapshot()
		var want []string
		for name := range known {
			want = append(want, name)
		}
		slices.Sort(want)
		for _, some := range [][]string{want, want[:1], want[len(want)-1:]} {
			if diff := cmp.Diff(some, byName(s, some)); diff != "" {
				t.Fatalf("after %d (-want +got):\n%s", n, diff)
			}
		}
	}
}

func byName(s *fleet.Snapshot, names []string) []string {
	set := &bitset.BitSet{}
	for _, name := range names {
		id, _ := s.ID(name)
		set.Set(id)
	}
	var out []string
	for _, id := range s.ByName(set) {
		out = append(out, s.Name(id))
	}
	return out
}

func TestDomainsSeparateValues(t *testing.T) {
	s := enginetest.NewState(
		enginetest.Cluster("a").Label("zone", "1").Obj(), enginetest.Cluster("b").Label("zone", "").Obj(),
		enginetest.Cluster("c").Label("zone2", "1").Obj(), enginetest.Cluster("d").Label("zone", "1").Obj(),
		enginetest.Cluster("e").Claim("zone", "1").Obj(),
	).Snapshot()
	domains := s.Domains(fleet.Label, "zone")
	got := map[string]int{}
	for id, c := range s.Clusters() {
		got[c.Name()] = domains.Of(id)
	}
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 1, "c": 0, "d": 2, "e": 0}, got); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if domains.Count() != 3 {
		t.Errorf("%d domains, want 3: no zone, an empty one and 1", domains.Count())
	}
}
