package plan_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
)

// TestDroppedFieldsAreNotWrittenAgain applies a plan as an API server that drops fields. The next plan is empty.
func TestDroppedFieldsAreNotWrittenAgain(t *testing.T) {
	dropped := plan.Dropped{
		Placement: []string{"numberOfReluctantClusters", "disruption", "conditions.message", "decisionGroups.decisions"},
		Decision:  []string{"decisions.score"},
	}
	p := p().Obj()
	p.Spec.SortBy = clusterv1beta1.SortByScore
	p.Spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: intstr.FromInt32(1)}
	w := enginetest.NewState(p, enginetest.Set("all").Obj()).Bind("ns", "all").
		Add(enginetest.Cluster("a").In("all").Obj()).
		Add(enginetest.Cluster("b").In("all").Taint("old", "PreferNoSelect", time.Time{}).Obj())
	result := enginetest.Decide(t, w)
	stored := w.Stored(enginetest.OnlyPlacement(t, w))
	stored.Dropped = dropped
	first := plan.Diff(result, stored, w.Now)
	next := plan.Stored{Dropped: dropped}
	for _, write := range first.Writes {
		switch {
		case write.Placement != nil:
			next.Placement = write.Placement
			for _, condition := range write.Placement.Status.Conditions {
				if condition.Message != "" {
					t.Errorf("the message of %s is written", condition.Type)
				}
			}
		case write.Verb == plan.UpdateMetadata:
			next.Slices = []*clusterv1beta1.PlacementDecision{write.Slice}
		}
	}
	if status := next.Placement.Status; status.NumberOfReluctantClusters != 0 || len(status.DecisionGroups) != 1 ||
		status.NumberOfSelectedClusters != 2 {
		t.Errorf("status %+v, want what is not dropped", status)
	}
	if again := plan.Diff(result, next, w.Now); !again.Empty() {
		t.Errorf("%d writes, first %s, want none", len(again.Writes), again.Writes[0].Verb)
	}
	next.Dropped = plan.Dropped{}
	if whole := plan.Diff(result, next, w.Now); whole.Empty() {
		t.Error("nothing is written once the fields are stored")
	}
}
