package delivery

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestAKilledManagerContinuesTheRollout kills the manager in the middle of each wave. No more clusters are in flight than allowed, and
// each cluster gets the template once.
func TestAKilledManagerContinuesTheRollout(t *testing.T) {
	f := newFleet(t, 6)
	f.decide("p", f.clusters)
	manager := startManager(t)
	set := f.newSet("web", "p={type: Progressive, progressive: {maxConcurrency: 2}}")
	for wave := range 3 {
		works := f.awaitWorks(set, "1", f.clusters[:2*wave+2]...)
		manager.Kill()
		if inFlight := countInFlight(works); inFlight != 2 {
			t.Errorf("%d clusters are in flight in wave %d", inFlight, wave)
		}
		f.healthy(works[2*wave:])
		manager = startManager(t)
	}
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	for _, work := range f.awaitWorks(set, "1", f.clusters...) {
		if work.Generation != 1 {
			t.Errorf("the work of %s was written %d times", work.Namespace, work.Generation)
		}
	}
}

func countInFlight(works []workv1.ManifestWork) int {
	out := 0
	for _, work := range works {
		if !meta.IsStatusConditionFalse(work.Status.Conditions, workv1.WorkProgressing) {
			out++
		}
	}
	return out
}

// TestVector10LongNamesAreDelivered uses a set whose name has a dot and, with its namespace, more than 63 characters.
func TestVector10LongNamesAreDelivered(t *testing.T) {
	f := newFleet(t, 1)
	f.decide("p", f.clusters)
	startManager(t)
	set := f.newSet(strings.Repeat("s", 60)+".io", "p")
	f.healthy(f.awaitWorks(set, "1", f.clusters...))
	f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
}

// TestVector14WorksOfOCMAreAdopted stores two works of one cluster as the controller of Open Cluster Management would: the oldest stays,
// and the other goes once the agent has applied the oldest.
func TestVector14WorksOfOCMAreAdopted(t *testing.T) {
	f := newFleet(t, 1)
	cluster := f.clusters[0]
	f.decide("p", f.clusters)
	f.decide("q", f.clusters)
	var made []*workv1.ManifestWork
	for _, placement := range []string{"p", "q"} {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, GenerateName: "web", Finalizers: []string{workv1.ManifestWorkFinalizer},
			Labels: map[string]string{workv1.ReplicaSetLabel: f.namespace + ".web", workv1.PlacementNameLabel: placement},
		}, Spec: workv1.ManifestWorkSpec{Workload: manifests("1")}}
		f.MustCreate(work)
		made = append(made, work)
	}
	startManager(t)
	set := f.newSet("web", "p", "q")
	adopted := &workv1.ManifestWork{}
	kit.Await(t, "one of the two works is adopted", func(ctx context.Context) error {
		works, err := f.works(ctx, set)
		if err != nil {
			return err
		}
		for _, work := range works {
			if work.Annotations[workv1.OwnerUIDAnnotation] == string(set.UID) && work.Annotations[workv1.TemplateGenerationAnnotation] == "1" {
				adopted = work.DeepCopy()
			}
			if !work.DeletionTimestamp.IsZero() {
				t.Errorf("%s goes before the agent has applied the other work", work.Name)
			}
		}
		if adopted.Name == "" || len(works) != 2 {
			return fmt.Errorf("%d works, %q is adopted: %w", len(works), adopted.Name, errNotYet)
		}
		return nil
	})
	if adopted.Generation != 1 {
		t.Errorf("the adopted work was changed: generation %d", adopted.Generation)
	}
	f.healthy([]workv1.ManifestWork{*adopted})
	other := made[0]
	if other.Name == adopted.Name {
		other = made[1]
	}
	f.AwaitObject(other, "the other work is being deleted", func() error {
		if other.DeletionTimestamp.IsZero() {
			return errNotYet
		}
		return nil
	})
	stored := f.awaitCondition(set, workv1alpha1.PlacementRolledOut, "True", "Complete")
	if stored.Status.Summary.Total != 1 {
		t.Errorf("%+v", stored.Status.Summary)
	}
}
