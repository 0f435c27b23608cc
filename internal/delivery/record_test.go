package delivery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/apply"
)

// TestAnOlderRecordStartsNothing: what starts is stored in the record first. A process with an older cache, after a restart or as a new
// leader, cannot store it, so that it starts nothing before it has read the record of the one before.
func TestAnOlderRecordStartsNothing(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := workv1alpha1.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	set := func(version, cluster string) *workv1alpha1.ManifestWorkReplicaSet {
		out := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "u",
			ResourceVersion: version,
		}}
		out.Status.Rollout = &clusterv1alpha1.RolloutRecord{
			Revision: "2", Clusters: []clusterv1alpha1.ClusterRolloutRecord{{Name: cluster, Phase: clusterv1alpha1.ClusterInFlight}},
		}
		return out
	}
	hub := fake.NewClientBuilder().WithScheme(kinds).WithObjects(set("20", "a")).WithStatusSubresource(
		&workv1alpha1.ManifestWorkReplicaSet{}).Build()
	r := &reconciler{client: hub, live: hub}
	r.options.Clock = clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	if _, err := r.report(t.Context(), newSetState(), set("9", ""), set("9", "b").Status); !apply.IsConflict(err) {
		t.Errorf("err = %v, want a conflict", err)
	}
	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := hub.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, stored); err != nil {
		t.Fatal(err)
	}
	if got := stored.Status.Rollout.Clusters; len(got) != 1 || got[0].Name != "a" {
		t.Errorf("on record: %+v", got)
	}
}
