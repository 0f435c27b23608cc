package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
)

func TestReadLedger(t *testing.T) {
	first, second := enginetest.Epoch, enginetest.Epoch.Add(time.Minute)
	since := func(at time.Time, names ...string) clusterv1beta1.ClustersSince {
		return clusterv1beta1.ClustersSince{Since: metav1.NewTime(at), Clusters: names}
	}
	satisfied := func(generation int64) clusterv1beta1.PlacementStatus {
		return clusterv1beta1.PlacementStatus{Conditions: []metav1.Condition{{
			Type: clusterv1beta1.PlacementConditionSatisfied, ObservedGeneration: generation,
		}}}
	}
	for name, tc := range map[string]struct {
		status clusterv1beta1.PlacementStatus
		want   ledger.Ledger
	}{
		"a placement that never was decided": {},
		"decided for another spec":           {status: satisfied(1)},
		"decided for this spec":              {status: satisfied(2), want: ledger.Ledger{SameSpec: true}},
		"an account of nothing is no account": {
			status: clusterv1beta1.PlacementStatus{Disruption: &clusterv1beta1.DisruptionStatus{}},
			want:   ledger.Ledger{Held: map[string]time.Time{}},
		},
		"a spend without an instant is as it is": {
			status: clusterv1beta1.PlacementStatus{
				Disruption: &clusterv1beta1.DisruptionStatus{Spent: []clusterv1beta1.DisruptionSpent{{Count: 2}}},
			},
			want: ledger.Ledger{Removals: []ledger.Removal{{Count: 2}}, Held: map[string]time.Time{}},
		},
		"a cluster listed twice counts from the earlier instant": {
			status: clusterv1beta1.PlacementStatus{
				Disruption: &clusterv1beta1.DisruptionStatus{
					Spent:     []clusterv1beta1.DisruptionSpent{{At: metav1.NewTime(first), Count: 3}},
					Releasing: []string{"y", "x", "y"},
					Held:      []clusterv1beta1.ClustersSince{since(second, "a", "b"), since(first, "b"), since(time.Time{}, "c")},
				},
				Failback: &clusterv1beta1.FailbackStatus{Waiting: []clusterv1beta1.ClustersSince{since(second, "w")}},
			},
			want: ledger.Ledger{
				Removals: []ledger.Removal{{At: first, Count: 3}}, Releasing: []string{"x", "y"},
				Held: map[string]time.Time{"a": second, "b": first}, Waiting: map[string]time.Time{"w": second},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			placement := p().Obj()
			placement.Generation, placement.Status = 2, tc.status
			if diff := cmp.Diff(tc.want, plan.ReadLedger(placement)); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
		})
	}
}
