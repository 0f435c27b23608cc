package evidence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/rollout"
)

// TestDeletedInItsSoak: a healthy cluster that is deleted while it soaks leaves. What its work reports until the decision drops it is no
// failure, and so is no breach.
func TestDeletedInItsSoak(t *testing.T) {
	cases := map[string]evidence.Member{"deleted": {Gone: true, Unavailable: true}, "denied": {Denied: true}}
	for name, member := range cases {
		for _, last := range []rollout.State{rollout.StateSucceeded, rollout.StateFailed, rollout.StateToApply} {
			if member.Denied && last == rollout.StateFailed {
				continue // it has failed
			}
			t.Run(name+" and "+string(last), func(t *testing.T) {
				now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
				in := evidence.Input{Revision: "v2", Members: map[string]evidence.Member{}}
				run := func(state rollout.State, selected ...string) rollout.Step {
					now = now.Add(time.Second)
					in.Now = now
					groups := rollout.Groups{Groups: []decision.Group{{Clusters: selected}}}
					in.Placements = []evidence.Placement{{Name: "all", Strategy: soaking(), Decided: groups, Ruled: groups, Complete: true}}
					in.Clusters = []evidence.Cluster{{Name: "a", State: state}, {Name: "b", State: rollout.StateToApply}}
					if len(selected) == 1 {
						in.Clusters[0].Placement, in.Clusters[0].Leaves = evidence.NoPlacement, true
					}
					out := evidence.Run(in)
					in.Record = out.Record
					return out.Steps[0]
				}
				run(rollout.StateToApply, "a", "b")
				run(rollout.StateProgressing, "a", "b")
				run(rollout.StateSucceeded, "a", "b")
				in.Members["a"] = member
				if step := run(last, "a", "b"); step.Breached {
					t.Errorf("breached before the decision drops it: %s", step.Message())
				}
				if step := run(last, "b"); step.Breached {
					t.Errorf("breached: %s", step.Message())
				}
				if got := in.Record.Clusters[0]; got.Name != "a" || got.Phase != clusterv1alpha1.ClusterLeft {
					t.Errorf("on record: %+v, want Left", got)
				}
			})
		}
	}
}

// soaking returns a strategy that starts one cluster at a time, each with a soak, and allows no failure.
func soaking() *clusterv1alpha1.RolloutStrategy {
	return &clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
		MaxConcurrency: intstr.FromInt32(1),
		RolloutConfig:  clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: time.Minute}},
	}}
}
