package delivery

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// TestTheStatusPatchLeavesNothing: what a status does not have any more is gone after its patch. A cluster of an earlier record would be
// started again.
func TestTheStatusPatchLeavesNothing(t *testing.T) {
	at := metav1.NewMicroTime(time.Unix(1_800_000_000, 0))
	before := &workv1alpha1.ManifestWorkReplicaSet{Status: workv1alpha1.ManifestWorkReplicaSetStatus{
		CurrentRevision: "1", UpdateRevision: "2", AbortedTime: &metav1.Time{Time: at.Time},
		PlacementsSummary: []workv1alpha1.PlacementSummary{{Name: "p"}},
		Rollout: &clusterv1alpha1.RolloutRecord{
			Revision: "2", StartedTime: at, ObservedTime: at, FinishedTime: &at, Returned: &at, Missing: 2, Overrides: true, ProvenOverrides: "a",
			Holds:      []clusterv1alpha1.RolloutHold{{Type: clusterv1alpha1.HoldMissing, Placement: "p"}},
			Placements: []clusterv1alpha1.PlacementRolloutRecord{{Name: "p", Total: 3, Base: 3}},
			Clusters:   []clusterv1alpha1.ClusterRolloutRecord{{Name: "a", Phase: clusterv1alpha1.ClusterInFlight, StartedTime: at}},
		},
	}}
	record := reflect.ValueOf(*before.Status.Rollout)
	for i := range record.NumField() {
		if record.Field(i).IsZero() {
			t.Errorf("the test leaves %s out", record.Type().Field(i).Name)
		}
	}
	for sentence, record := range map[string]*clusterv1alpha1.RolloutRecord{
		"no record":       nil,
		"an empty record": {Revision: "3", StartedTime: at},
	} {
		t.Run(sentence, func(t *testing.T) {
			want := workv1alpha1.ManifestWorkReplicaSetStatus{CurrentRevision: "1", UpdateRevision: "3", Rollout: record}
			patch, err := statusPatch(before, &want)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			after := &workv1alpha1.ManifestWorkReplicaSet{}
			if stored, err = jsonpatch.MergePatch(stored, patch); err == nil {
				err = json.Unmarshal(stored, after)
			}
			if err != nil || !equality.Semantic.DeepEqual(after.Status, want) {
				t.Errorf("%v: %s", err, cmp.Diff(want, after.Status))
			}
		})
	}
}
