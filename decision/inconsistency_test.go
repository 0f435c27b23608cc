package decision_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

func filledUnder(strategy string, slice *clusterv1beta1.PlacementDecision) *clusterv1beta1.PlacementDecision {
	slice.Annotations = map[string]string{clusterv1beta1.DecisionStrategyAnnotation: strategy}
	return slice
}

func many(n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf("c%03d", i))
	}
	return out
}

func TestInconsistencies(t *testing.T) {
	cases := map[string]struct {
		slices []*clusterv1beta1.PlacementDecision
		want   []string
	}{
		"at rest": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "", many(100)...), slice(2, "1", "", "d")},
			nil,
		},
		"gaps in the indexes": {[]*clusterv1beta1.PlacementDecision{slice(1, "2", "", "a"), slice(4, "5", "", "b")}, nil},
		"a cluster on its way": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a", "b"), slice(2, "1", "", "b")},
			[]string{"cluster b is in two slices"},
		},
		"a cluster on its way inside a group": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a", "b"), slice(2, "0", "", "b")},
			[]string{"cluster b is in two slices"},
		},
		"a name twice in a slice is no move": {[]*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a", "a")}, nil},
		"more than a slice holds": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "0", "", many(101)...)},
			[]string{"slice web-decision-1 has more than 100 clusters"},
		},
		"half relabelled": {
			[]*clusterv1beta1.PlacementDecision{slice(1, "1", "", "a"), slice(2, "1", "x", "b")},
			[]string{"slices of group 1 have different names"},
		},
		"without an index, names may differ": {[]*clusterv1beta1.PlacementDecision{slice(1, "", "", "a"), slice(2, "", "x", "b")}, nil},
		"half divided anew": {
			[]*clusterv1beta1.PlacementDecision{
				filledUnder("s1", slice(1, "0", "", "a")), slice(2, "1", "", "b"),
				filledUnder("s2", slice(3, "2", "", "c")),
			},
			[]string{"slices have different group strategies"},
		},
		"a slice without a strategy": {
			[]*clusterv1beta1.PlacementDecision{filledUnder("s1", slice(1, "0", "", "a")), slice(2, "1", "", "b")},
			nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set := decision.Of(tc.slices...)
			var got []string
			for _, tear := range set.Inconsistencies() {
				got = append(got, tear.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if set.Inconsistent() != (len(tc.want) > 0) {
				t.Errorf("torn: %t", set.Inconsistent())
			}
		})
	}
}

func TestDisagreements(t *testing.T) {
	set := decision.Of(slice(1, "0", "x", "a", "b"), slice(3, "1", "", "c"))
	placement := func(selected int32, groups ...clusterv1beta1.DecisionGroupStatus) *clusterv1beta1.Placement {
		return &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: selected, DecisionGroups: groups}}
	}
	x := clusterv1beta1.DecisionGroupStatus{DecisionGroupName: "x", Decisions: []string{"web-decision-1"}, ClustersCount: 2}
	rest := clusterv1beta1.DecisionGroupStatus{DecisionGroupIndex: 1, Decisions: []string{"web-decision-3"}, ClustersCount: 1}
	cases := map[string]struct {
		placement *clusterv1beta1.Placement
		want      []string
	}{
		"the status agrees":                  {placement(3, x, rest), nil},
		"a status without groups":            {placement(3), nil},
		"a status from before the last join": {placement(2), []string{"the status has 2 clusters, the slices have 3"}},
		"a group that is still to come": {placement(3, x, rest, clusterv1beta1.DecisionGroupStatus{
			DecisionGroupIndex: 2,
			Decisions:          []string{"web-decision-4"}, ClustersCount: 4,
		}), []string{
			"the status lists 3 slices, which are not the 2 stored slices", "group 2: the status has 4 clusters, the slices have 0",
		}},
		"a group that the status does not have": {placement(3, x), []string{
			"the status lists 1 slices, which are not the 2 stored slices", "group 1: the status has 0 clusters, the slices have 1",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, set.Disagreements(tc.placement)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
