package delivery

import (
	"context"
	"fmt"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery"
)

// TestALostClusterHoldsTheRollout: a cluster that leaves before it succeeded is a failure, also for the next manager, until a person
// forgives it. What the person decided survives a change of the set.
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
	control.Spec.Forgiven = []rolloutv1alpha1.ForgivenCluster{{
		Cluster: f.clusters[0], Revision: stored.Status.UpdateRevision,
		Reason: "a test",
	}}
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

// TestEachDecisionHasOneEventWithItsUser: the set has one event for each pause, forgiven cluster and resume, with who and why, also where
// another manager comes in between, and where no manager ran when it was decided.
func TestEachDecisionHasOneEventWithItsUser(t *testing.T) {
	f := newFleet(t, 1)
	f.decide("p", f.clusters)
	manager := startManager(t)
	set := f.newSet("web", "p={type: Progressive}")
	f.awaitWorks(set, "1", f.clusters...)
	control := &rolloutv1alpha1.RolloutControl{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}
	control.Spec = rolloutv1alpha1.RolloutControlSpec{Paused: true, PausedBy: "jane", PauseReason: "Friday"}
	f.MustCreate(control)
	want := []string{"RolloutPaused The rollout is paused by jane: Friday"}
	f.awaitDecisions(set, want)
	manager.Kill()
	again := startManager(t)
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Spec.RevisionHistoryLimit = new(int32(5)) })
	f.AwaitObject(set, "the second manager plans", func() error {
		for _, condition := range set.Status.Conditions {
			if condition.ObservedGeneration != set.Generation {
				return errNotYet
			}
		}
		return nil
	})
	f.MustRead(control)
	control.Spec.Forgiven = []rolloutv1alpha1.ForgivenCluster{{Cluster: f.clusters[0], Revision: "r", Reason: "disk full", By: "joe"}}
	f.MustUpdate(control)
	want = append(want, "FailureForgiven The failure of cluster "+f.clusters[0]+" is forgiven by joe: disk full")
	f.awaitDecisions(set, want)
	again.Kill()
	f.MustRead(control)
	control.Spec = rolloutv1alpha1.RolloutControlSpec{ReturnNow: &rolloutv1alpha1.TemplateDecision{
		Revision: "r", By: "joe",
		Time: metav1.NowMicro(),
	}}
	f.MustUpdate(control)
	startManager(t)
	f.awaitDecisions(set, append(want, "ReturnedAtOnce The return to template r at once is decided by joe"))
}

// awaitDecisions waits until a set has exactly the events of decisions.
func (f *testFleet) awaitDecisions(set *workv1alpha1.ManifestWorkReplicaSet, want []string) {
	f.t.Helper()
	f.Await("the events of decisions", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := f.List(ctx, list, client.InNamespace(set.Namespace)); err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			if event := &list.Items[i]; event.Action == delivery.ActionDecided && event.Regarding.Name == set.Name {
				got = append(got, event.Reason+" "+event.Note)
				if event.Series != nil {
					got = append(got, "again")
				}
			}
		}
		slices.Sort(got)
		sorted := slices.Sorted(slices.Values(want))
		if !slices.Equal(got, sorted) {
			return fmt.Errorf("%w: %q, want %q", errNotYet, got, sorted)
		}
		return nil
	})
}
