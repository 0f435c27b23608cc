//go:build slow

package endtoend

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	clusterGroup, workGroup = ".cluster.open-cluster-management.io", ".work.open-cluster-management.io"
	// singleName is a placement of one cluster.
	singleName = "single"
)

// undefine deletes definitions, and waits until all of them are gone.
func (h *testHub) undefine(names ...string) {
	h.t.Helper()
	for _, name := range names {
		h.admin.MustDeleteDefinition(name)
	}
	for _, name := range names {
		h.admin.AwaitGone(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
}

// stored returns the objects of lists as a file of an administrator has them.
func (h *testHub) stored(lists ...client.ObjectList) []client.Object {
	h.t.Helper()
	var out []client.Object
	for _, list := range lists {
		h.admin.MustList(list)
		items := kit.Must(meta.ExtractList(list)).In(h.t)
		for _, item := range items {
			object, _ := item.DeepCopyObject().(client.Object)
			object.SetUID("")
			object.SetResourceVersion("")
			object.SetFinalizers(nil)
			object.SetManagedFields(nil)
			if cluster, ok := object.(*clusterv1.ManagedCluster); ok {
				cluster.Status = clusterv1.ManagedClusterStatus{}
			}
			out = append(out, object)
		}
	}
	return out
}

// putBack creates objects again. The manager may have created the sets that always exist.
func (h *testHub) putBack(objects []client.Object) {
	h.t.Helper()
	for _, object := range objects {
		kit.Await(h.t, "the object is created again", func(ctx context.Context) error {
			again, _ := object.DeepCopyObject().(client.Object)
			if err := h.admin.Create(ctx, again); !apierrors.IsAlreadyExists(err) {
				return err
			}
			return nil
		})
	}
}

// selected returns the clusters of each placement.
func (h *testHub) selected(ctx context.Context) (map[string][]string, error) {
	slicesOf := &clusterv1beta1.PlacementDecisionList{}
	if err := h.admin.List(ctx, slicesOf); err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, slice := range slicesOf.Items {
		for _, decision := range slice.Status.Decisions {
			name := slice.Labels[clusterv1beta1.PlacementLabel]
			out[name] = append(out[name], decision.ClusterName)
		}
	}
	for name := range out {
		slices.Sort(out[name])
	}
	return out, nil
}

// awaitSelected waits until the placements have selected exactly some clusters.
func (h *testHub) awaitSelected(want map[string][]string) {
	h.t.Helper()
	kit.Await(h.t, "the placements select what they selected before", func(ctx context.Context) error {
		got, err := h.selected(ctx)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = fmt.Errorf("decisions (-want +got):\n%s: %w", diff, errNotYet)
		}
		return err
	})
}

// createSingle creates a placement of one cluster, which a fresh decision would not choose: another ranks before it by now.
func (h *testHub) createSingle() {
	h.t.Helper()
	const pick = "pick"
	label := func(name string) {
		h.admin.MustMerge(kit.Cluster(name), `{"metadata":{"labels":{"pick":"yes"}}}`)
	}
	last := h.members[len(h.members)-1].name
	label(last)
	placement := kit.Placement(setNamespace, singleName)
	one := int32(1)
	placement.Spec.NumberOfClusters = &one
	predicate := clusterv1beta1.ClusterPredicate{}
	predicate.RequiredClusterSelector.LabelSelector.MatchLabels = map[string]string{pick: "yes"}
	placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{predicate}
	placement.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	h.admin.MustCreate(placement)
	kit.Await(h.t, "the cluster is selected", func(ctx context.Context) error {
		got, err := h.selected(ctx)
		if err == nil && !slices.Equal(got[singleName], []string{last}) {
			err = fmt.Errorf("%v: %w", got, errNotYet)
		}
		return err
	})
	for _, m := range h.members {
		label(m.name)
	}
}

// TestDefinitionsThatGoTakeNothingWithThem deletes definitions and puts them and their objects back: those of clusters, sets and works
// together, that of sets of works alone, and those of placements and their decisions. The members keep every object, and each placement its
// clusters.
func TestDefinitionsThatGoTakeNothingWithThem(t *testing.T) {
	h := newTestHub(t, shortGrace)
	w := h.deliver("first", "second")
	h.createSingle()
	before, decided := h.uids(w), kit.Must(h.selected(t.Context())).In(t)
	for number, round := range []struct {
		definitions []string
		lists       []client.ObjectList
	}{{
		[]string{
			"managedclustersets" + clusterGroup, "managedclusters" + clusterGroup,
			"manifestworkreplicasets" + workGroup, "manifestworks" + workGroup,
		},
		[]client.ObjectList{&clusterv1beta2.ManagedClusterSetList{}, &clusterv1.ManagedClusterList{}, &workv1alpha1.ManifestWorkReplicaSetList{}},
	}, {
		[]string{"manifestworkreplicasets" + workGroup},
		[]client.ObjectList{&workv1alpha1.ManifestWorkReplicaSetList{}},
	}, {
		[]string{"managedclusters" + clusterGroup},
		[]client.ObjectList{&clusterv1.ManagedClusterList{}},
	}, {
		[]string{"managedclustersetbindings" + clusterGroup, "placements" + clusterGroup, "placementdecisions" + clusterGroup},
		[]client.ObjectList{&clusterv1beta2.ManagedClusterSetBindingList{}, &clusterv1beta1.PlacementList{}},
	}} {
		names := strings.Join(round.definitions, ", ")
		t.Log("without", names)
		objects := h.stored(round.lists...)
		h.undefine(round.definitions...)
		for _, m := range h.members {
			kit.Must(m.check(t.Context(), w)).In(t)
		}
		if log := h.manager.Log(); strings.Count(log, "nothing is decided, delivered or deleted until it is back") <= number {
			t.Errorf("without %s the manager reports\n%s", names, h.manager.Tail())
		}
		single := kit.Placement(setNamespace, singleName)
		if !slices.Contains(round.definitions, "placements"+clusterGroup) {
			h.admin.AwaitCondition(single, clusterv1beta1.PlacementConditionHeld, metav1.ConditionTrue, clusterv1beta1.ReasonDefinitionMissing)
		}
		h.admin.RestoreDefinitions(round.definitions...)
		h.putBack(objects)
		h.awaitSelected(decided)
		kit.Await(t, "the works are there again", func(ctx context.Context) error { return h.check(ctx, w) })
		kit.Await(t, "the manager decides again", func(context.Context) error {
			if strings.Count(h.manager.Log(), "all definitions are back") <= number {
				return fmt.Errorf("%w: %s", errNotYet, h.manager.Tail())
			}
			return nil
		})
		h.hub.AwaitFixedPoint(t, testTimeout)
		h.awaitSelected(decided)
		h.requireSame(before, h.uids(w))
		h.admin.MustRead(single)
		if held := meta.FindStatusCondition(single.Status.Conditions, clusterv1beta1.PlacementConditionHeld); held != nil {
			t.Errorf("the placement is decided, and reports %v", held)
		}
	}
}
