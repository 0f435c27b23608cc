package delivery

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestALostClusterHoldsTheRollout: a cluster that leaves before it succeeded is a failure, also for the next manager, until a person forgives it.
// What the person decided survives a change of the set.
func TestALostClusterHoldsTheRollout(t *testing.T) {
	f := newFleet(t, 4)
	f.decide("p", f.clusters[:3])
	manager := startManager(t)
	set := f.newSet("web", "p={type: Progressive, progressive: {maxConcurrency: 3}}")
	f.healthy(f.awaitWorks(set, "1", f.clusters[:3]...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = parseStrategy(t, "{type: Progressive, progressive: {maxConcurrency: 1}}")
		set.Spec.ManifestWorkTemplate.Workload = manifests("2")
	})
	f.awaitWorks(set, "2", f.clusters[0])
	f.decide("p", f.clusters[1:])
	stored := f.awaitCondition(set, workv1alpha1.Progressing, "False", "Breached")
	f.awaitWorks(set, "1", f.clusters[1:]...) // that of the cluster that joined too
	if record := stored.Status.Rollout; len(record.Clusters) != 1 || record.Clusters[0].Phase != clusterv1alpha1.ClusterLost {
		t.Errorf("%+v", record)
	}
	manager.Kill()
	startManager(t)
	control := &rolloutv1alpha1.RolloutControl{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}
	control.Spec.Paused = true
	control.Spec.Forgiven = []rolloutv1alpha1.ForgivenCluster{{Cluster: f.clusters[0], Revision: stored.Status.UpdateRevision, Reason: "a test"}}
	f.MustCreate(control)
	f.awaitCondition(set, workv1alpha1.Progressing, "False", "Paused")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Labels = map[string]string{"applied": "again"}
		set.Spec.PlacementRefs[0].RolloutStrategy.Paused = false
	})
	f.awaitWorks(set, "1", f.clusters[1:]...)
	kit.NoError(t, f.Patch(t.Context(), control, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":false}}`))))
	f.awaitWorks(set, "2", f.clusters[:2]...) // no agent removes the work of the first
}

// TestADeletedClusterIsNotExpected: a rollout finishes although a cluster without a ManagedCluster leaves before its turn.
func TestADeletedClusterIsNotExpected(t *testing.T) {
	f := newFleet(t, 3)
	f.decide("p", f.clusters)
	startManager(t)
	set := f.newSet("web", "p={type: Progressive, progressive: {maxConcurrency: 3}}")
	f.healthy(f.awaitWorks(set, "1", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = parseStrategy(t, "{type: Progressive, progressive: {maxConcurrency: 1}}")
		set.Spec.ManifestWorkTemplate.Workload = manifests("2")
	})
	works := f.awaitWorks(set, "2", f.clusters[0])
	f.decide("p", f.clusters[:2])
	f.healthy(works)
	f.healthy(f.awaitWorks(set, "2", f.clusters[:2]...))
	stored := f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	if record := stored.Status.Rollout; record.FinishedTime == nil || stored.Status.CurrentRevision != stored.Status.UpdateRevision {
		t.Errorf("%+v", record)
	}
}
