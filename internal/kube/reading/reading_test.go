package reading_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// TestADecisionThatLacksGroups holds which decisions let no cluster start: slices are written one after the other, and the group that comes
// first may be in the last of them.
func TestADecisionThatLacksGroups(t *testing.T) {
	canary := []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
	for sentence, tc := range map[string]struct {
		groups    []int
		selected  int32
		unmatched []clusterv1alpha1.MandatoryDecisionGroup
		want      bool
	}{
		"a complete decision": {groups: []int{0, 1}, selected: 2},
		"a complete decision without a group that does not exist":   {groups: []int{0, 1}, selected: 2, unmatched: canary},
		"a complete decision with an empty group":                   {groups: []int{1}, selected: 1},
		"a later slice is missing":                                  {groups: []int{0, 1}, selected: 3},
		"a slice is missing, and a group that the strategy names":   {groups: []int{0}, selected: 2, unmatched: canary, want: true},
		"the first group is missing":                                {groups: []int{1}, selected: 2, want: true},
		"a group in the middle is missing":                          {groups: []int{0, 2}, selected: 3, want: true},
		"slices without a group, and the status is not written yet": {groups: []int{decision.NoIndex}, selected: 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			var slices []*clusterv1beta1.PlacementDecision
			for i, index := range tc.groups {
				slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
					Name:   fmt.Sprint(i),
					Labels: map[string]string{clusterv1beta1.PlacementLabel: "p"},
				}}
				if index != decision.NoIndex {
					slice.Labels[clusterv1beta1.DecisionGroupIndexLabel] = fmt.Sprint(index)
				}
				slice.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: fmt.Sprint(i)}}
				slices = append(slices, slice)
			}
			placement := reading.Placement{Object: &clusterv1beta1.Placement{}, Decisions: decision.Of(slices...)}
			placement.Object.Status.NumberOfSelectedClusters = tc.selected
			worth, _ := reading.Read(placement)
			if got := reading.LacksGroups(worth, placement, rollout.Step{Apply: []string{"0"}, Unmatched: tc.unmatched}); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
			if reading.LacksGroups(worth, placement, rollout.Step{Unmatched: tc.unmatched}) {
				t.Error("a step that starts nothing has to wait")
			}
		})
	}
}
