package kueue

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/apply"
)

var errUnfenced = errors.New("the deletion names no version")

// newHub returns a hub with objects, on which every deletion must be fenced.
func newHub(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, clusterv1beta1.AddToScheme, multiclusterv1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{checkKind, configKind, clusterKind} {
		kinds.AddKnownTypeWithName(groupVersion().WithKind(kind), &unstructured.Unstructured{})
		kinds.AddKnownTypeWithName(groupVersion().WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(kinds).WithStatusSubresource(object(checkKind)).WithObjects(objects...).WithInterceptorFuncs(
		interceptor.Funcs{
			Delete: func(ctx context.Context, hub client.WithWatch, of client.Object, options ...client.DeleteOption) error {
				applied := (&client.DeleteOptions{}).ApplyOptions(options)
				if p := applied.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil {
					return errUnfenced
				}
				return hub.Delete(ctx, of)
			},
		}).Build()
}

// check returns a check of a placement.
func check(name, placement string) *unstructured.Unstructured {
	out := object(checkKind)
	out.SetName(name)
	out.SetUID(types.UID("uid-of-" + name))
	out.Object["spec"] = map[string]any{"controllerName": ControllerName, "parameters": map[string]any{
		"apiGroup": clusterv1beta1.GroupName, "kind": "Placement", "name": placement,
	}}
	return out
}

// behind is a cache that lacks the objects of a kind.
type behind struct {
	client.Reader

	kind string
}

func (b behind) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if into.GetObjectKind().GroupVersionKind().Kind == b.kind {
		return apierrors.NewNotFound(schema.GroupResource{Resource: b.kind}, key.Name)
	}
	return b.Reader.Get(ctx, key, into, options...)
}

func (b behind) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if into.GetObjectKind().GroupVersionKind().Kind == b.kind+"List" {
		return nil
	}
	return b.Reader.List(ctx, into, options...)
}

func newReconciler(hub client.WithWatch, missing string) *reconciler {
	return &reconciler{cache: behind{hub, missing}, live: hub, client: hub, options: Options{Namespace: "kueue-system", Source: SourceSecret}}
}

// TestAConfigThatTheCacheLacksIsNotTaken has a list of another client that was made a moment ago.
func TestAConfigThatTheCacheLacksIsNotTaken(t *testing.T) {
	placement, slices := decided(chosen("a", 1))
	theirs := config("x")
	theirs.SetLabels(nil)
	hub := newHub(t, placement, slices[0], theirs, check("queue", "gpu"))
	result, err := newReconciler(hub, configKind).Reconcile(t.Context(), requestFor("gpu"))
	if err != nil || result.RequeueAfter != apply.ConflictRetry {
		t.Errorf("got %v, %v, want another attempt", result, err)
	}
	stored := object(configKind)
	if err := hub.Get(t.Context(), client.ObjectKey{Name: "gpu"}, stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x"}, sets.List(clustersOf(stored))); diff != "" || len(stored.GetLabels()) > 0 {
		t.Errorf("the list of the other client is %v", stored.Object)
	}
}

// TestAClusterThatTheCacheDoesNotListStays has a cluster in a list that was written a moment ago.
func TestAClusterThatTheCacheDoesNotListStays(t *testing.T) {
	used, unused := object(clusterKind), object(clusterKind)
	used.SetName("used")
	unused.SetName("unused")
	for _, each := range []*unstructured.Unstructured{used, unused} {
		each.SetLabels(map[string]string{PlacementLabel: "true"})
	}
	hub := newHub(t, used, unused, config("used"))
	if _, err := newReconciler(hub, configKind).Reconcile(t.Context(), requestFor("")); err != nil {
		t.Fatal(err)
	}
	left, err := list(t.Context(), hub, clusterKind)
	if err != nil || len(left) != 1 || left[0].GetName() != "used" {
		t.Errorf("the clusters are %v, %v, want the used one", left, err)
	}
}

// TestAListWhoseCheckTheCacheLacksStays has a check that was made a moment ago.
func TestAListWhoseCheckTheCacheLacksStays(t *testing.T) {
	hub := newHub(t, config("a"), check("queue", "gpu"))
	if _, err := newReconciler(hub, checkKind).Reconcile(t.Context(), requestFor("gpu")); err != nil {
		t.Fatal(err)
	}
	if err := hub.Get(t.Context(), client.ObjectKey{Name: "gpu"}, object(configKind)); err != nil {
		t.Errorf("the list: %v", err)
	}
	if err := hub.Delete(t.Context(), check("queue", "gpu"), client.Preconditions(
		metav1.Preconditions{UID: new(types.UID), ResourceVersion: new(string)})); err != nil {
		t.Fatal(err)
	}
	if _, err := newReconciler(hub, checkKind).Reconcile(t.Context(), requestFor("gpu")); err != nil {
		t.Fatal(err)
	}
	if err := hub.Get(t.Context(), client.ObjectKey{Name: "gpu"}, object(configKind)); !apierrors.IsNotFound(err) {
		t.Errorf("the list without a check: %v", err)
	}
}

// newSource returns a MultiKueueCluster that refers to the profile of its name.
func newSource(name string, labels map[string]string) *unstructured.Unstructured {
	out := object(clusterKind)
	out.SetName(name)
	out.SetLabels(labels)
	out.Object["spec"] = map[string]any{"clusterSource": map[string]any{"clusterProfileRef": map[string]any{"name": name}}}
	return out
}

// TestAProfileThatReplacedAnotherLeavesTheList has a listed cluster whose profile is now of some cluster manager.
func TestAProfileThatReplacedAnotherLeavesTheList(t *testing.T) {
	imported := map[string]string{clusterv1.InventoryProfileAnnotationKey: "kueue-system/a", clusterv1.InventoryManagerAnnotationKey: "theirs"}
	unrecorded := map[string]string{clusterv1.InventoryProfileAnnotationKey: "kueue-system/a"}
	ours := map[string]string{PlacementLabel: "true"}
	for name, test := range map[string]struct {
		annotations, labels map[string]string
		manager             string // empty for no profile
		want                []string
	}{
		"of this manager":                                  {nil, ours, "berth", []string{"a", "b"}},
		"of another manager":                               {nil, ours, "theirs", []string{"a", "b"}},
		"of a manager that is not recorded":                {unrecorded, ours, "theirs", []string{"a", "b"}},
		"gone for a moment":                                {nil, ours, "", []string{"a", "b"}},
		"of the manager that the cluster came from":        {imported, ours, "theirs", []string{"a", "b"}},
		"of a manager that the cluster did not come from":  {imported, ours, "others", []string{"b"}},
		"of another manager, as an administrator wants it": {nil, nil, "others", []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			placement, slices := decided(chosen("a", 1), chosen("b", 1))
			objects := []client.Object{
				placement, slices[0], config("a", "b"), check("queue", "gpu"), newSource("a", test.labels), newSource("b", ours),
				&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: test.annotations}},
			}
			if test.manager != "" {
				profile := &multiclusterv1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "a"}}
				profile.Spec.ClusterManager.Name = test.manager
				objects = append(objects, profile)
			}
			hub := newHub(t, objects...)
			r := newReconciler(hub, "")
			r.cache, r.options.Source, r.options.Manager = hub, SourceProfile, "berth"
			if _, err := r.Reconcile(t.Context(), requestFor("gpu")); err != nil {
				t.Fatal(err)
			}
			stored := object(configKind)
			if err := hub.Get(t.Context(), client.ObjectKey{Name: "gpu"}, stored); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, sets.List(clustersOf(stored))); diff != "" {
				t.Errorf("the list (-want +got):\n%s", diff)
			}
			left, err := list(t.Context(), hub, clusterKind)
			if err != nil || len(left) != len(test.want) {
				t.Errorf("%d MultiKueueClusters, %v, want %d", len(left), err, len(test.want))
			}
		})
	}
}

// TestEventsNeedNoRequest maps events to lists. The cache fails no list while the manager runs.
func TestEventsNeedNoRequest(t *testing.T) {
	placement, slices := decided()
	elsewhere := placement.DeepCopy()
	elsewhere.Namespace = "shop"
	from := func(profile string) client.Object {
		return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
			Name:        "a",
			Annotations: map[string]string{clusterv1.InventoryProfileAnnotationKey: profile},
		}}
	}
	r := newReconciler(newHub(t, check("queue", "gpu")), "")
	for name, test := range map[string]struct {
		object client.Object
		mapped func(context.Context, client.Object) []reconcile.Request
		want   []reconcile.Request
	}{
		"a check":                          {check("queue", "gpu"), listOfCheck, []reconcile.Request{requestFor("gpu")}},
		"a placement":                      {placement, r.listOfPlacement, []reconcile.Request{requestFor("gpu")}},
		"a slice":                          {slices[0], r.listOfPlacement, []reconcile.Request{requestFor("gpu")}},
		"a placement of another namespace": {elsewhere, r.listOfPlacement, nil},
		"an imported cluster":              {from("kueue-system/a"), r.listsOfImported, []reconcile.Request{requestFor("gpu")}},
		"a cluster from another namespace": {from("shop/a"), r.listsOfImported, nil},
	} {
		if diff := cmp.Diff(test.want, test.mapped(t.Context(), test.object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
