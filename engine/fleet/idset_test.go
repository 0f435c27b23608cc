package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// TestACrowdIsASet lets a crowd grow from nobody to many and shrink again, and compares it with a map on the way.
func TestACrowdIsASet(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var crowd IDSet
	members := map[ID]bool{}
	for step := range 8 * mostFew {
		id := random.UintN(4 * mostFew)
		if grows := step < 4*mostFew; random.IntN(8) > 0 == grows {
			crowd.add(id)
			members[id] = true
		} else {
			crowd.remove(id)
			delete(members, id)
		}
		if step%16 == 0 {
			compare(t, crowd, members)
		}
	}
	for id := range members {
		crowd.remove(id)
	}
	compare(t, crowd, nil)
}

func compare(t *testing.T, crowd IDSet, members map[ID]bool) {
	t.Helper()
	want := slices.Sorted(maps.Keys(members))
	if diff := cmp.Diff(want, slices.Collect(crowd.All())); diff != "" || crowd.Count() != len(want) {
		t.Fatalf("%d in a crowd of %d (-want +got):\n%s", crowd.Count(), len(want), diff)
	}
	third, kept, rest := &bitset.BitSet{}, map[ID]bool{}, map[ID]bool{}
	all := maps.Clone(members)
	for id := ID(0); id < 5*mostFew; id += 3 {
		third.Set(id)
		if all == nil {
			all = map[ID]bool{}
		}
		all[id] = true
		if members[id] {
			kept[id] = true
		} else {
			rest[id] = true
		}
		if crowd.Has(id) != members[id] {
			t.Fatalf("a crowd of %d has %d: %v", len(want), id, crowd.Has(id))
		}
	}
	for name, tc := range map[string]struct {
		by   func(set *bitset.BitSet)
		want map[ID]bool
	}{
		"AddTo": {crowd.AddTo, all}, "KeepIn": {crowd.IntersectInto, kept}, "DropFrom": {crowd.RemoveFrom, rest},
		"Bits": {func(set *bitset.BitSet) { *set = *crowd.BitSet() }, members},
	} {
		got := third.Clone()
		tc.by(got)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(tc.want)), slices.Collect(got.EachSet())); diff != "" {
			t.Fatalf("%s of a crowd of %d (-want +got):\n%s", name, len(want), diff)
		}
	}
	crowd.BitSet().ClearAll()
	if crowd.Count() != len(want) {
		t.Fatalf("a crowd of %d has %d once its bits are cleared", len(want), crowd.Count())
	}
}

// TestWhomATermHoldsForStays edits a fleet in which a label goes from nobody to many and back, and reads all its snapshots
// in the end.
func TestWhomATermHoldsForStays(t *testing.T) {
	const most = 2 * mostFew
	labelled := TermKey(Label, "l")
	snapshots := []*Snapshot{Empty()}
	set := func(n int, labels map[string]string) {
		edit := snapshots[len(snapshots)-1].Edit()
		edit.SetCluster(NewCluster(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", n), Labels: labels}}))
		snapshots = append(snapshots, edit.Snapshot())
	}
	for n := range most {
		set(n, map[string]string{"l": ""})
	}
	for n := range most {
		set(n, nil)
	}
	for step, s := range snapshots {
		first, end := max(0, step-most), min(step, most)
		for n := range most {
			id, known := s.ID(fmt.Sprintf("c%d", n))
			if got, want := known && s.ClustersWith(labelled).Has(id), first <= n && n < end; got != want {
				t.Fatalf("after %d edits, c%d has the label: %v", step, n, got)
			}
		}
		if got := s.ClustersWith(labelled).Count(); got != end-first {
			t.Fatalf("after %d edits, %d have the label, want %d", step, got, end-first)
		}
	}
}

// TestACrowdTakesLittle says which crowds are lists: those of few that only one term has, and those of so few of a fleet that
// a bitset would take more.
func TestACrowdTakesLittle(t *testing.T) {
	var grown IDSet
	grown.add(100_000)
	for name, tc := range map[string]struct {
		crowd IDSet
		want  []ID
		list  bool
	}{
		"nobody":                       {crowd(nil), nil, true},
		"one, added":                   {grown, []ID{100_000}, true},
		"one, late":                    {crowd([]uint32{100_000}), []ID{100_000}, true},
		"one, early":                   {crowd([]uint32{7}), []ID{7}, false},
		"some, in no order":            {crowd([]uint32{900, 7, 8}), []ID{7, 8, 900}, true},
		"some, one of them twice":      {crowd([]uint32{7, 7, 900}), []ID{7, 900}, true},
		"some, in order, side by side": {crowd([]uint32{7, 8, 9}), []ID{7, 8, 9}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, slices.Collect(tc.crowd.All())); diff != "" || (tc.crowd.bits == nil) != tc.list {
				t.Errorf("as a list: %v, want %v; members (-want +got):\n%s", tc.crowd.bits == nil, tc.list, diff)
			}
		})
	}
}
