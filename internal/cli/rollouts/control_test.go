package rollouts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
)

// TestADecisionKeepsItsUser: each new decision has the name of its user. A decision that was made before keeps its own.
func TestADecisionKeepsItsUser(t *testing.T) {
	approval := rolloutv1alpha1.GroupApproval{
		MandatoryDecisionGroup: clusterv1alpha1.MandatoryDecisionGroup{GroupName: "canary"}, Placement: "p", Revision: "r", For: rolloutv1alpha1.ApprovalStart,
	}
	forgiven := rolloutv1alpha1.ForgivenCluster{Cluster: "a", Revision: "r", Reason: "disk full"}
	spec := &rolloutv1alpha1.RolloutControlSpec{}
	for _, step := range []struct {
		change  ControlChange
		by      string
		changed bool
	}{
		{PauseAll(true, "Friday"), "jane", true},
		{PauseAll(true, "Monday"), "joe", false},
		{AddApprovals([]rolloutv1alpha1.GroupApproval{approval}), "jane", true},
		{AddApprovals([]rolloutv1alpha1.GroupApproval{approval}), "joe", false},
		{AddForgiven([]rolloutv1alpha1.ForgivenCluster{forgiven}), "jane", true},
		{AddForgiven([]rolloutv1alpha1.ForgivenCluster{forgiven}), "joe", false},
	} {
		if got := step.change(spec, step.by); got != step.changed {
			t.Errorf("a change by %s: %v, want %v: %+v", step.by, got, step.changed, spec)
		}
	}
	approval.By, forgiven.By = "jane", "jane"
	want := &rolloutv1alpha1.RolloutControlSpec{
		Paused: true, PausedBy: "jane", PauseReason: "Friday", Approvals: []rolloutv1alpha1.GroupApproval{approval},
		Forgiven: []rolloutv1alpha1.ForgivenCluster{forgiven},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !PauseAll(false, "")(spec, "joe") || spec.Paused || spec.PausedBy != "joe" || spec.PauseReason != "" {
		t.Errorf("resumed: %+v", spec)
	}
	if _, err := TrimReason(strings.Repeat("x", maxReason+1)); err == nil {
		t.Error("a reason without a bound")
	}
}
