package rollouts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/hold"
)

// TestPassHeld: a release passes the group of a hold, for the present template.
func TestPassHeld(t *testing.T) {
	set, history := versions(t, "", "a")
	group := clusterv1alpha1.MandatoryDecisionGroup{GroupName: "canary"}
	got, err := PassHeld(set, &hold.Hold{Placement: "p", Group: &group}, "why")
	want := rolloutv1alpha1.GroupApproval{
		MandatoryDecisionGroup: group, Placement: "p", Revision: history[0].Hash, For: rolloutv1alpha1.ApprovalProof, Reason: "why",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestCounted: the failures that count have names, and those beyond the names are counted.
func TestCounted(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{
		Clusters: []clusterv1alpha1.ClusterRolloutRecord{
			{Name: "a", Phase: clusterv1alpha1.ClusterFailed},
			{Name: "b", Phase: clusterv1alpha1.ClusterLost},
			{Name: "c", Phase: clusterv1alpha1.ClusterForgiven},
			{Name: "d", Phase: clusterv1alpha1.ClusterInFlight},
		},
		Placements: []clusterv1alpha1.PlacementRolloutRecord{{Groups: []clusterv1alpha1.GroupRolloutRecord{{Failed: 1, Lost: 2}}}},
	}
	names, more := Counted(set)
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || more != 1 {
		t.Errorf("%d more, (-want +got):\n%s", more, diff)
	}
}
