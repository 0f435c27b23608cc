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

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

var errUnfenced = errors.New("the deletion names no version")

// newHub returns a hub with objects, on which every deletion must be fenced.
func newHub(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	kinds := runtime.NewScheme()
	if err := clusterv1beta1.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{checkKind, configKind, clusterKind} {
		kinds.AddKnownTypeWithName(groupVersion().WithKind(kind), &unstructured.Unstructured{})
		kinds.AddKnownTypeWithName(groupVersion().WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(kinds).WithStatusSubresource(object(checkKind)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
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
	if err != nil || result.RequeueAfter != conflictRetry {
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
	if err := hub.Delete(t.Context(), check("queue", "gpu"), client.Preconditions(metav1.Preconditions{UID: new(types.UID), ResourceVersion: new(string)})); err != nil {
		t.Fatal(err)
	}
	if _, err := newReconciler(hub, checkKind).Reconcile(t.Context(), requestFor("gpu")); err != nil {
		t.Fatal(err)
	}
	if err := hub.Get(t.Context(), client.ObjectKey{Name: "gpu"}, object(configKind)); !apierrors.IsNotFound(err) {
		t.Errorf("the list without a check: %v", err)
	}
}

// TestEventsNeedNoRequest maps events to lists. The cache fails no list while the manager runs.
func TestEventsNeedNoRequest(t *testing.T) {
	placement, slices := decided()
	elsewhere := placement.DeepCopy()
	elsewhere.Namespace = "shop"
	r := newReconciler(newHub(t), "")
	for name, test := range map[string]struct {
		object client.Object
		mapped func(context.Context, client.Object) []reconcile.Request
		want   []reconcile.Request
	}{
		"a check":                          {check("queue", "gpu"), listOfCheck, []reconcile.Request{requestFor("gpu")}},
		"a placement":                      {placement, r.listOfPlacement, []reconcile.Request{requestFor("gpu")}},
		"a slice":                          {slices[0], r.listOfPlacement, []reconcile.Request{requestFor("gpu")}},
		"a placement of another namespace": {elsewhere, r.listOfPlacement, nil},
	} {
		if diff := cmp.Diff(test.want, test.mapped(t.Context(), test.object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
