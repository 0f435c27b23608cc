package delivery

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// TestVector19AClusterThatJoinsAPausedRolloutGetsTheFormerTemplate pauses a rollout right as it begins, lets a cluster join, and goes on.
func TestVector19AClusterThatJoinsAPausedRolloutGetsTheFormerTemplate(t *testing.T) {
	f := newFleet(t, 2)
	f.decide("p", f.clusters[:1])
	startManager(t)
	set := f.newSet("web", "p")
	f.healthy(f.awaitWorks(set, "1", f.clusters[:1]...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true
		set.Spec.ManifestWorkTemplate.Workload = manifests("2")
	})
	f.awaitCondition(set, workv1alpha1.Progressing, "False", "Paused")
	f.decide("p", f.clusters)
	f.awaitWorks(set, "1", f.clusters...)
	f.awaitTemplates(set, "1", "2")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.Paused = false
	})
	f.healthy(f.awaitWorks(set, "2", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.ManifestWorkTemplate.Workload = manifests("1")
	})
	f.awaitTemplates(set, "2", "1")
}

// awaitTemplates waits until these templates of a set are kept, the oldest first.
func (f *testFleet) awaitTemplates(set *workv1alpha1.ManifestWorkReplicaSet, values ...string) {
	f.t.Helper()
	var want []string
	for _, value := range values {
		hash := kit.Must(plan.TemplateHash(&workv1.ManifestWorkSpec{Workload: manifests(value)})).In(f.t)
		want = append(want, hash)
	}
	f.Await("these templates of a set are kept, the oldest first", func(ctx context.Context) error {
		list := &appsv1.ControllerRevisionList{}
		if err := f.List(ctx, list, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
		var got []string
		for i := range list.Items {
			got = append(got, plan.RevisionHash(set, &list.Items[i]))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("kept %q, want %q: %w", got, want, errNotYet)
		}
		return nil
	})
}

// TestABreachedRolloutIsAborted lets the second template fail on a cluster. The clusters return to the first one, which the status reports,
// and a third template rolls out.
func TestABreachedRolloutIsAborted(t *testing.T) {
	f := newFleet(t, 3)
	f.decide("p", f.clusters)
	startManager(t)
	set := f.newSet("web", "p={type: Progressive, progressive: {maxConcurrency: 3}}")
	f.healthy(f.awaitWorks(set, "1", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = parseStrategy(t, "{type: Progressive, progressive: {maxConcurrency: 2}}")
		set.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
		set.Spec.ManifestWorkTemplate.Workload = manifests("2")
	})
	works := f.awaitWorks(set, "2", f.clusters[:2]...)
	f.awaitReport(&works[0], "Applied Degraded Progressing")
	f.awaitWorks(set, "1", f.clusters...)
	stored := f.awaitCondition(set, workv1alpha1.Progressing, "False", "Breached")
	if stored.Status.AbortedTime == nil || stored.Status.CurrentRevision == stored.Status.UpdateRevision {
		t.Errorf("%+v", stored.Status)
	}
	f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		set.Spec.ManifestWorkTemplate.Workload = manifests("3")
	})
	f.awaitWorks(set, "3", f.clusters[:2]...)
	if stored = f.awaitCondition(set, workv1alpha1.Progressing, "True", "Waiting"); stored.Status.AbortedTime != nil {
		t.Errorf("aborted at %s", stored.Status.AbortedTime)
	}
}
