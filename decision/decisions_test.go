package decision_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// slice returns a slice of the placement web in the namespace shop.
func slice(number int, index, name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-decision-" + strconv.Itoa(number),
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel:          "web",
			clusterv1beta1.DecisionGroupIndexLabel: index,
			clusterv1beta1.DecisionGroupNameLabel:  name,
		},
	}}
	for _, cluster := range clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	return out
}

func group(index int, name string, clusters ...string) decision.Group {
	return decision.Group{GroupKey: decision.GroupKey{Index: index, Name: name}, Clusters: clusters}
}

func TestGroups(t *testing.T) {
	cases := map[string]struct {
		slices []*clusterv1beta1.PlacementDecision
		want   []decision.Group
	}{
		"no slices make no group":         {nil, []decision.Group{}},
		"one empty slice makes one group": {[]*clusterv1beta1.PlacementDecision{slice(1, "0", "")}, []decision.Group{group(0, "")}},
		"slices of a group are put together": {
			[]*clusterv1beta1.PlacementDecision{slice(2, "0", "", "c", "a"), slice(1, "0", "", "b")},
			[]decision.Group{group(0, "", "a", "b", "c")},
		},
		"indexes are numbers, not texts": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "10", "", "a"), slice(2, "9", "", "b")},
			[]decision.Group{group(9, "", "b"), group(10, "", "a")},
		},
		"gaps in the indexes lose no group": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "7", "", "a"), slice(2, "2", "x", "b")},
			[]decision.Group{group(2, "x", "b"), group(7, "", "a")},
		},
		"names may repeat": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "x", "a"), slice(2, "1", "x", "b")},
			[]decision.Group{group(0, "x", "a"), group(1, "x", "b")},
		},
		"an index that cannot be read": {[]*clusterv1beta1.PlacementDecision{
			slice(1, "one", "x", "a"), slice(2, "-4", "", "b"),
			slice(3, "3", "", "c"),
		}, []decision.Group{group(3, "", "c"), group(decision.NoIndex, "", "b"), group(decision.NoIndex, "x", "a")}},
		"a cluster in two slices counts once": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "1", "", "a", "b"), slice(2, "0", "", "b")},
			[]decision.Group{group(0, "", "b"), group(1, "", "a")},
		},
		"an entry without a name is ignored": {[]*clusterv1beta1.PlacementDecision{slice(1, "0", "", "")}, []decision.Group{group(0, "")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set := decision.Of(tc.slices...)
			if diff := cmp.Diff(tc.want, set.Groups()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			list := &clusterv1beta1.PlacementDecisionList{}
			for _, slice := range slices.Backward(tc.slices) {
				list.Items = append(list.Items, *slice)
			}
			if diff := cmp.Diff(tc.want, decision.OfList(list).Groups()); diff != "" {
				t.Errorf("as a list, backwards (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecisions(t *testing.T) {
	set := decision.Of(slice(1, "0", "canary", "c1"), slice(2, "4", "canary", "a1", "c2"), slice(3, "5", "", "b1"))
	if got := slices.Collect(set.ClusterNames()); !slices.Equal(got, []string{"a1", "b1", "c1", "c2"}) || set.Len() != 4 {
		t.Errorf("names %v, count %d", got, set.Len())
	}
	var order []string
	for key, cluster := range set.Clusters() {
		if cluster == "b1" {
			break
		}
		order = append(order, key.String()+" "+cluster)
	}
	if diff := cmp.Diff([]string{"0 (canary) c1", "4 (canary) a1", "4 (canary) c2"}, order); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]decision.Group{group(0, "canary", "c1"), group(4, "canary", "a1", "c2")}, set.ByGroupName("canary")); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
	if got, ok := set.Group(4); !ok || !slices.Equal(got.Clusters, []string{"a1", "c2"}) {
		t.Errorf("group 4: %v, %t", got, ok)
	}
	if got, ok := set.Group(1); ok || got.Index != decision.NoIndex {
		t.Errorf("group 1: %v, %t, want none", got, ok)
	}
	if key, ok := set.GroupOf("c2"); !ok || key.Index != 4 || !set.Has("c2") {
		t.Errorf("group of c2: %v, %t", key, ok)
	}
	if _, ok := set.GroupOf("d1"); ok || set.Has("d1") {
		t.Error("d1 is selected")
	}
	set.Groups()[0].Clusters[0] = "x"
	if group, _ := set.Group(0); group.Clusters[0] != "c1" {
		t.Error("a caller changed the set")
	}
}

func TestDiff(t *testing.T) {
	before := decision.Of(slice(1, "0", "x", "a", "b"), slice(2, "1", "", "c", "d"))
	cases := map[string]struct {
		after []*clusterv1beta1.PlacementDecision
		want  decision.Change
	}{
		"the same in other slices": {[]*clusterv1beta1.PlacementDecision{
			slice(7, "0", "x", "b"), slice(8, "0", "x", "a"),
			slice(9, "1", "", "c", "d"),
		}, decision.Change{}},
		"some come, some go": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "x", "z", "a"), slice(2, "1", "", "y", "d")},
			decision.Change{Added: []string{"y", "z"}, Removed: []string{"b", "c"}},
		},
		"some change groups": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "x", "a", "c"), slice(2, "1", "", "b", "d")},
			decision.Change{Regrouped: []string{"b", "c"}},
		},
		"a group gets a name": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "x", "a", "b"), slice(2, "1", "y", "c", "d")},
			decision.Change{Regrouped: []string{"c", "d"}},
		},
		"all go": {nil, decision.Change{Removed: []string{"a", "b", "c", "d"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decision.Diff(before, decision.Of(tc.after...))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Empty() != (cmp.Diff(tc.want, decision.Change{}) == "") {
				t.Errorf("empty: %t", got.Empty())
			}
		})
	}
	if diff := cmp.Diff(decision.Change{Added: []string{"a", "b", "c", "d"}}, decision.Diff(decision.Decisions{}, before)); diff != "" {
		t.Errorf("from nothing (-want +got):\n%s", diff)
	}
}
