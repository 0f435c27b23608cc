package decision_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// decidedPlacement is a placement at generation 3 with a status of a generation.
func decidedPlacement(selected int32, observed int64) *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 3}}
	out.Status.NumberOfSelectedClusters = selected
	out.Status.Conditions = []metav1.Condition{
		{Type: clusterv1beta1.PlacementConditionMisconfigured, ObservedGeneration: observed},
		{Type: clusterv1beta1.PlacementConditionSatisfied},
	}
	return out
}

func TestObstacles(t *testing.T) {
	disabled := decidedPlacement(9, 1)
	disabled.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	undecided := decidedPlacement(0, 3)
	undecided.Status.Conditions = nil
	complete := []*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a", "b")}
	torn := []*clusterv1beta1.PlacementDecision{slice(1, "0", "", "a", "b"), slice(2, "1", "", "b")}
	cases := map[string]struct {
		placement *clusterv1beta1.Placement
		slices    []*clusterv1beta1.PlacementDecision
		want      []string
	}{
		"complete":                                  {decidedPlacement(2, 3), complete, nil},
		"complete, and it selects no cluster":       {decidedPlacement(0, 3), []*clusterv1beta1.PlacementDecision{slice(1, "0", "")}, nil},
		"the writer records no generation":          {decidedPlacement(2, 0), complete, nil},
		"no slice":                                  {decidedPlacement(0, 3), nil, []string{"it has no decision yet"}},
		"slices of a former placement of this name": {undecided, complete, []string{"its status is not written yet"}},
		"the spec changed": {
			decidedPlacement(2, 2), complete,
			[]string{"its generation 3 is not decided yet, the status is of generation 2"},
		},
		"a slice is missing": {
			decidedPlacement(3, 3), complete,
			[]string{"the status has 3 clusters, the slices have 2"},
		},
		"a cluster moves":                            {decidedPlacement(2, 3), torn, []string{"cluster b is in two slices"}},
		"another scheduler writes":                   {disabled, complete, nil},
		"another scheduler writes, a cluster moves":  {disabled, torn, []string{"cluster b is in two slices"}},
		"another scheduler writes, and has no slice": {disabled, nil, []string{"it has no decision yet"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decision.Of(tc.slices...).Obstacles(tc.placement)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
