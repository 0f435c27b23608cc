package binding

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

var (
	errBoom = errors.New("boom")
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func binding(namespace, set string, conditions ...metav1.Condition) *clusterv1beta2.ManagedClusterSetBinding {
	out := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set, Generation: 1}}
	out.Spec.ClusterSet = set
	out.Status.Conditions = conditions
	return out
}

func set(name string) *clusterv1beta2.ManagedClusterSet {
	return &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func newReconciler(t *testing.T, intercept interceptor.Funcs, objects ...client.Object) *reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clusterv1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	fake := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&clusterv1beta2.ManagedClusterSetBinding{}).WithInterceptorFuncs(intercept).
		WithIndex(&clusterv1beta2.ManagedClusterSetBinding{}, bySet, func(o client.Object) []string { return []string{o.GetName()} }).Build()
	return &reconciler{client: fake, clock: testclock.NewFakePassiveClock(noon)}
}

func (r *reconciler) run(t *testing.T) error {
	t.Helper()
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "dev"}})
	return err
}

func TestBound(t *testing.T) {
	before := noon.Add(-time.Hour)
	for sentence, test := range map[string]struct {
		objects []client.Object
		want    metav1.Condition
	}{
		"an existing set is bound":   {[]client.Object{binding("team", "dev"), set("dev")}, boundCondition(true, 1, noon)},
		"a missing set is not bound": {[]client.Object{binding("team", "dev"), set("other")}, boundCondition(false, 1, noon)},
		"a new set is bound": {
			[]client.Object{binding("team", "dev", boundCondition(false, 1, before)), set("dev")},
			boundCondition(true, 1, noon),
		},
		"a deleted set is not bound": {[]client.Object{binding("team", "dev", boundCondition(true, 1, before))}, boundCondition(false, 1, noon)},
		"no change keeps the time": {
			[]client.Object{binding("team", "dev", boundCondition(true, 1, before)), set("dev")},
			boundCondition(true, 1, before),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, test.objects...)
			if err := r.run(t); err != nil {
				t.Fatal(err)
			}
			got := &clusterv1beta2.ManagedClusterSetBinding{}
			if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "dev"}, got); err != nil {
				t.Fatal(err)
			}
			same := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
			if diff := cmp.Diff([]metav1.Condition{test.want}, got.Status.Conditions, same); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	for sentence, test := range map[string]struct {
		exists bool
		want   metav1.Condition
	}{
		"bound": {true, metav1.Condition{
			Type: "Bound", Status: "True", Reason: "ClusterSetBound", ObservedGeneration: 3,
			LastTransitionTime: metav1.NewTime(noon),
		}},
		"not found": {false, metav1.Condition{
			Type: "Bound", Status: "False", Reason: "ClusterSetNotFound", ObservedGeneration: 3,
			LastTransitionTime: metav1.NewTime(noon),
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, boundCondition(test.exists, 3, noon)); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	refusing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption,
		) error {
			return err
		}}
	}
	unreadable := func(kind client.Object) interceptor.Funcs {
		return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption,
		) error {
			if _, isSet := kind.(*clusterv1beta2.ManagedClusterSet); isSet {
				if _, isSet := o.(*clusterv1beta2.ManagedClusterSet); !isSet {
					return c.Get(ctx, key, o, opts...)
				}
			}
			return errBoom
		}}
	}
	resource := schema.GroupResource{Group: clusterv1beta2.GroupVersion.Group, Resource: "managedclustersetbindings"}
	for sentence, test := range map[string]struct {
		intercept interceptor.Funcs
		want      error
	}{
		"a binding that cannot be read is tried again": {unreadable(&clusterv1beta2.ManagedClusterSetBinding{}), errBoom},
		"a set that cannot be read is no missing set":  {unreadable(&clusterv1beta2.ManagedClusterSet{}), errBoom},
		"a failed write of the status":                 {refusing(errBoom), errBoom},
		"a conflict, whose event enqueues the binding": {refusing(apierrors.NewConflict(resource, "dev", errBoom)), nil},
		"a deleted binding":                            {refusing(apierrors.NewNotFound(resource, "dev")), nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, test.intercept, binding("team", "dev"))
			if err := r.run(t); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestDeletedBindingIsNoError(t *testing.T) {
	if err := newReconciler(t, interceptor.Funcs{}).run(t); err != nil {
		t.Error(err)
	}
}

// TestSetsEnqueueTheirBindings in every namespace, when a set is created or deleted. A change of a set enqueues no binding.
func TestSetsEnqueueTheirBindings(t *testing.T) {
	r := newReconciler(t, interceptor.Funcs{}, binding("team", "dev"), binding("shop", "dev"), binding("team", "test"))
	want := []reconcile.Request{
		{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "dev"}},
		{NamespacedName: types.NamespacedName{Namespace: "team", Name: "dev"}},
	}
	if diff := cmp.Diff(want, r.bindingsOf(t.Context(), set("dev"))); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
}
