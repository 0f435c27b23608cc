package evidence_test

import (
	"slices"
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
	for name, member := range map[string]evidence.Member{"gone": {Gone: true}, "being deleted": {Gone: true, Unavailable: true}} {
		for _, last := range []rollout.State{rollout.StateSucceeded, rollout.StateProgressing, rollout.StateFailed, rollout.StateToApply} {
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
				for range 2 {
					if step := run(last, "a", "b"); step.Breached || slices.Contains(step.Apply, "a") {
						t.Errorf("breached before the decision drops it, or starts it: %s", step.Message())
					}
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

// TestWithoutAManagedCluster: a cluster that never had a ManagedCluster does not go. Its rollout is judged by its work alone.
func TestWithoutAManagedCluster(t *testing.T) {
	in := evidence.Input{
		Revision: "v2", Now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		Members: map[string]evidence.Member{"a": {Gone: true}},
	}
	groups := rollout.Groups{Groups: []decision.Group{{Clusters: []string{"a"}}}}
	in.Placements = []evidence.Placement{{Name: "all", Strategy: soaking(), Decided: groups, Ruled: groups, Complete: true}}
	var codes []rollout.Code
	for _, state := range []rollout.State{rollout.StateToApply, rollout.StateProgressing, rollout.StateSucceeded, rollout.StateFailed} {
		in.Now = in.Now.Add(time.Second)
		in.Clusters = []evidence.Cluster{{Name: "a", State: state}}
		out := evidence.Run(in)
		in.Record = out.Record
		codes = append(codes, out.Steps[0].Verdicts[0].Code)
	}
	if want := []rollout.Code{rollout.Starting, rollout.UnderWay, rollout.Soaking, rollout.Failing}; !slices.Equal(codes, want) {
		t.Errorf("%v, want %v", codes, want)
	}
}

// soaking returns a strategy that starts one cluster at a time, each with a soak, and allows no failure.
func soaking() *clusterv1alpha1.RolloutStrategy {
	return &clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
		MaxConcurrency: intstr.FromInt32(1),
		RolloutConfig:  clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: time.Minute}},
	}}
}
