package delivery

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/delivery/plan"
)

const progressive = "={type: Progressive, progressive: {maxConcurrency: 2, mandatoryDecisionGroups: [{groupIndex: 0}]}}"

// TestASetRollsOutInWaves delivers a set to two groups, changes the template, and follows the waves of both rollouts.
func TestASetRollsOutInWaves(t *testing.T) {
	f := newFleet(t, 5)
	c := f.clusters
	f.decide("p", c[:1], c[1:])
	startManager(t)
	set := f.newSet("web", "p"+progressive)
	for _, value := range []string{"1", "2"} {
		if value == "2" {
			f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) {
				set.Spec.ManifestWorkTemplate.Workload = manifests("2")
			})
		}
		f.healthy(f.awaitWorks(set, value, c[:1]...))
		f.healthy(f.awaitWorks(set, value, c[:3]...)[1:])
		works := f.awaitWorks(set, value, c...)
		f.awaitCondition(set, workv1alpha1.Progressing, "True", "Waiting")
		f.healthy(works[3:])
		stored := f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
		f.awaitCondition(set, workv1alpha1.ManifestworkApplied, "True", "AsExpected")
		hash := works[0].Annotations[workv1.TemplateHashAnnotation]
		if got := stored.Status; got.Summary.Total != 5 || got.Summary.Updated != 5 || got.CurrentRevision != hash || got.UpdateRevision != hash {
			t.Errorf("status %+v, hash %s", got, hash)
		}
		if got := stored.Status.PlacementsSummary[0].AvailableDecisionGroups; got != "2 (5 / 5 clusters applied)" {
			t.Error(got)
		}
		for _, work := range works {
			if work.Name != plan.WorkName(f.namespace, "web") || len(work.Finalizers) != 1 ||
				work.Annotations[workv1.OwnerUIDAnnotation] != string(set.UID) {
				t.Errorf("%+v", work.ObjectMeta)
			}
		}
	}
}

// TestVector4ADeletedSetLeavesNoWork deletes sets of both policies right after the manager has started, and while works are created.
func TestVector4ADeletedSetLeavesNoWork(t *testing.T) {
	f := newFleet(t, 40)
	f.decide("p", f.clusters)
	startManager(t)
	for _, policy := range []workv1alpha1.CascadeDeletionPolicyType{workv1alpha1.Background, workv1alpha1.Foreground} {
		set := f.newSet("web", "p")
		f.change(set, func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Spec.CascadeDeletionPolicy = policy })
		f.awaitAny(set)
		f.MustDelete(set)
		if policy == workv1alpha1.Foreground {
			stored := f.awaitCondition(set, workv1alpha1.Progressing, "True", plan.ReasonDeleting)
			if message := meta.FindStatusCondition(stored.Status.Conditions, workv1alpha1.Progressing).Message; message == "" {
				t.Error("no message")
			}
		} else {
			f.AwaitGone(set)
			for _, work := range kit.Must(f.works(t.Context(), set)).In(t) {
				if work.DeletionTimestamp.IsZero() {
					t.Errorf("work %s/%s is left without owner", work.Namespace, work.Name)
				}
			}
		}
		f.release(set)
		f.AwaitGone(set)
	}
}

// TestVector8OnlyADecisionRemovesWorks deletes the slices and the placement, which removes nothing, and then decides for no cluster.
func TestVector8OnlyADecisionRemovesWorks(t *testing.T) {
	f := newFleet(t, 3)
	f.decide("p", f.clusters)
	startManager(t)
	set := f.newSet("web", "p")
	f.awaitWorks(set, "1", f.clusters...)
	f.decide("p")
	f.awaitCondition(set, workv1alpha1.PlacementVerified, "False", "NotAsExpected")
	f.awaitWorks(set, "1", f.clusters...)
	placement := f.placement("p")
	f.MustDelete(placement)
	f.awaitCondition(set, workv1alpha1.PlacementVerified, "False", "PlacementDecisionNotFound")
	f.awaitWorks(set, "1", f.clusters...)
	f.decide("p", f.clusters[:1])
	f.releaseIn(set, f.clusters[1:])
	f.awaitWorks(set, "1", f.clusters[:1]...)
	f.decide("p", nil)
	f.release(set)
	f.awaitCondition(set, workv1alpha1.PlacementVerified, "False", "PlacementDecisionEmpty")
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Error(err)
	}
}
