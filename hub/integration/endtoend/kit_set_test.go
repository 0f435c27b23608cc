package endtoend

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// progressiveSet is the name of the set that rolls out to one cluster at a time. Every other set rolls out to all at once. A cluster that
// leaves it while it is under way is lost, and holds no other.
const progressiveSet = "progressive"

// createSet creates a set for the placement. It waits while a deleted set of this name exists.
func (h *testHub) createSet(name string, of template) {
	h.t.Helper()
	strategy := clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All}
	if name == progressiveSet {
		strategy = clusterv1alpha1.RolloutStrategy{
			Type: clusterv1alpha1.Progressive,
			Progressive: &clusterv1alpha1.RolloutProgressive{
				RolloutConfig: clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromString("100%")}, MaxConcurrency: intstr.FromInt32(1),
			},
		}
	}
	reference := workv1alpha1.LocalPlacementReference{Name: placementName}
	reference.RolloutStrategy.RolloutStrategy = strategy
	kit.Await(h.t, "the set is created", func(ctx context.Context) error {
		set := kit.WorkSet(setNamespace, name)
		set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{reference}
		set.Spec.ManifestWorkTemplate.Workload = of.spec()
		return h.admin.Create(ctx, set)
	})
}

// changeSet changes the template of a set.
func (h *testHub) changeSet(name string, to template) {
	h.t.Helper()
	h.storeManifests(name, to.spec())
}

// storeManifests stores the manifests of a set.
func (h *testHub) storeManifests(name string, manifests workv1.ManifestsTemplate) {
	h.t.Helper()
	set := kit.WorkSet(setNamespace, name)
	h.admin.AwaitChanged(set, func() {
		set.Spec.ManifestWorkTemplate.Workload = manifests
	})
}

// applied returns an error while the agent has not applied a work.
func (h *testHub) applied(ctx context.Context, key client.ObjectKey) error {
	work := &workv1.ManifestWork{}
	if err := h.admin.Get(ctx, key, work); err != nil {
		return err
	}
	if found := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied); found == nil || found.Status != metav1.ConditionTrue {
		return fmt.Errorf("work %s is not applied: %+v: %w", key, work.Status, errNotYet)
	}
	return nil
}

// gone returns an error while a work exists.
func (h *testHub) gone(ctx context.Context, key client.ObjectKey) error {
	err := h.admin.Get(ctx, key, &workv1.ManifestWork{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = errNotYet
	}
	return err
}
