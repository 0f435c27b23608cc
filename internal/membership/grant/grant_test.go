package grant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/access"
)

var errBoom = errors.New("boom")

const team = "team"

func (r *reconciler) reconcileNow(t *testing.T) error {
	t.Helper()
	_, err := r.Reconcile(t.Context(), request(team))
	return err
}

// newReconciler returns a reconciler on a hub that holds some objects. names are the sets that the account of the namespace team may
// bind: nil for no set, empty for every set.
func newReconciler(t *testing.T, intercept interceptor.Funcs, names []string, objects ...client.Object) *reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), clusterv1beta2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	index := access.NewIndex()
	if names != nil {
		index.SetRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "binder"}, Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"create"}, APIGroups: []string{clusterv1beta2.GroupVersion.Group}, Resources: []string{"managedclustersets/bind"},
			ResourceNames: names,
		}}})
		index.SetBinding(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "binder"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "binder"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: team, Name: Account}},
		})
	}
	fake := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(intercept).Build()
	return &reconciler{
		client: fake, index: index, enqueue: func(string) { t.Error("a namespace was enqueued") },
		guarded: func(context.Context) (bool, error) { return true, nil },
	}
}

func account(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func set(name string) *clusterv1beta2.ManagedClusterSet {
	return &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func userBinding(set string) *clusterv1beta2.ManagedClusterSetBinding {
	out := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: set}}
	out.Spec.ClusterSet = set
	return out
}

func grantBinding(set string) *clusterv1beta2.ManagedClusterSetBinding {
	out := userBinding(set)
	out.Labels = map[string]string{clusterv1beta2.MadeByLabel: MadeByGrant}
	return out
}

// bindings returns the bindings of all namespaces. A star marks the bindings of the controller.
func (r *reconciler) bindings(t *testing.T) []string {
	t.Helper()
	list := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, binding := range list.Items {
		star := ""
		if binding.Labels[clusterv1beta2.MadeByLabel] == MadeByGrant {
			star = "*"
		}
		if binding.Spec.ClusterSet != binding.Name {
			t.Errorf("binding %s names set %s", binding.Name, binding.Spec.ClusterSet)
		}
		out = append(out, binding.Namespace+"/"+binding.Name+star)
	}
	return out
}

func TestGrant(t *testing.T) {
	goingAccount, goingSet := account(team, Account), set("dev")
	for _, object := range []client.Object{goingAccount, goingSet} {
		object.SetDeletionTimestamp(&metav1.Time{Time: metav1.Now().Time})
		object.SetFinalizers([]string{"test/hold"})
	}
	mine := account(team, Account)
	all, none := []string{}, []string(nil)
	for sentence, test := range map[string]struct {
		names   []string
		objects []client.Object
		want    []string
	}{
		"a granted set is bound": {
			[]string{"dev"},
			[]client.Object{mine, set("dev"), set("prod")},
			[]string{"team/dev*"},
		},
		"a grant of all sets binds all": {
			all,
			[]client.Object{mine, set("dev"), set("prod")},
			[]string{"team/dev*", "team/prod*"},
		},
		"a literal star binds nothing":                    {[]string{"*"}, []client.Object{mine, set("dev")}, nil},
		"a set that does not exist is not bound":          {[]string{"dev"}, []client.Object{mine}, nil},
		"a set that is being deleted is not bound":        {[]string{"dev"}, []client.Object{mine, goingSet}, nil},
		"without the account nothing is bound":            {[]string{"dev"}, []client.Object{set("dev")}, nil},
		"another account is ignored":                      {[]string{"dev"}, []client.Object{account(team, "default"), set("dev")}, nil},
		"an account that is being deleted grants nothing": {[]string{"dev"}, []client.Object{goingAccount, set("dev"), grantBinding("dev")}, nil},
		"a binding is removed with the grant":             {none, []client.Object{mine, set("dev"), grantBinding("dev")}, nil},
		"a binding is removed with the account":           {[]string{"dev"}, []client.Object{set("dev"), grantBinding("dev")}, nil},
		"a smaller grant removes the other bindings": {
			[]string{"dev"},
			[]client.Object{mine, set("dev"), set("prod"), grantBinding("dev"), grantBinding("prod")},
			[]string{"team/dev*"},
		},
		"a binding of a deleted set stays": {[]string{"dev"}, []client.Object{mine, grantBinding("dev")}, []string{"team/dev*"}},
		"a user's binding is not marked": {
			[]string{"dev"},
			[]client.Object{mine, set("dev"), userBinding("dev")},
			[]string{"team/dev"},
		},
		"a user's binding stays without a grant":    {none, []client.Object{mine, set("dev"), userBinding("dev")}, []string{"team/dev"}},
		"a user's binding stays without an account": {none, []client.Object{set("dev"), userBinding("dev")}, []string{"team/dev"}},
		"a user's binding does not affect other grants": {
			all,
			[]client.Object{mine, set("dev"), set("prod"), userBinding("dev")},
			[]string{"team/dev", "team/prod*"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, test.names, clone(test.objects)...)
			if err := r.reconcileNow(t); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, r.bindings(t)); diff != "" {
				t.Errorf("bindings (-want +got):\n%s", diff)
			}
		})
	}
}

func clone(objects []client.Object) []client.Object {
	var out []client.Object
	for _, object := range objects {
		if copied, ok := object.DeepCopyObject().(client.Object); ok {
			out = append(out, copied)
		}
	}
	return out
}

// TestFailuresAreIndependent: a failed binding or removal is retried, after all others are done.
func TestFailuresAreIndependent(t *testing.T) {
	failing := func(names ...string) interceptor.Funcs {
		return interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if slices.Contains(names, o.GetName()) {
					return errBoom
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if slices.Contains(names, o.GetName()) {
					return errBoom
				}
				return c.Delete(ctx, o, opts...)
			},
		}
	}
	r := newReconciler(t, failing("a", "x"), []string{"a", "b"}, account(team, Account), set("a"), set("b"), grantBinding("x"),
		grantBinding("y"))
	if _, err := r.Reconcile(t.Context(), request(team)); !errors.Is(err, errBoom) {
		t.Errorf("error %v, want %v", err, errBoom)
	}
	if err := r.reconcileNow(t); !errors.Is(err, errBoom) {
		t.Errorf("error %v after the revocation, want %v", err, errBoom)
	}
	if diff := cmp.Diff([]string{"team/b*", "team/x*"}, r.bindings(t)); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	failing := func(kind string) interceptor.Funcs {
		return interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				if kind == "account" {
					return errBoom
				}
				return nil
			},
			List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == kind {
					return errBoom
				}
				return nil
			},
		}
	}
	for sentence, test := range map[string]struct {
		kind, namespace string
	}{
		"of reading the account": {"account", team},
		"of listing bindings":    {"*v1beta2.ManagedClusterSetBindingList", team},
		"of listing sets":        {"*v1beta2.ManagedClusterSetList", team},
		"of listing accounts":    {"*v1.PartialObjectMetadataList", allNamespaces},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, failing(test.kind), []string{})
			if _, err := r.Reconcile(t.Context(), request(test.namespace)); !errors.Is(err, errBoom) {
				t.Errorf("error %v, want %v", err, errBoom)
			}
		})
	}
}

func TestNormalRefusals(t *testing.T) {
	resource := schema.GroupResource{Group: clusterv1beta2.GroupVersion.Group, Resource: "managedclustersetbindings"}
	terminating := apierrors.NewForbidden(resource, "dev", errBoom)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for sentence, test := range map[string]struct {
		refusal error
		want    error
	}{
		"the namespace is being deleted": {terminating, nil},
		"the namespace is gone":          {apierrors.NewNotFound(resource, "dev"), nil},
		"another client created it":      {apierrors.NewAlreadyExists(resource, "dev"), nil},
		"the manager has no permission":  {apierrors.NewForbidden(resource, "dev", errBoom), errBoom},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return test.refusal
			}}, []string{"dev"}, account(team, Account), set("dev"))
			_, err := r.Reconcile(t.Context(), request(team))
			if (err != nil) != (test.want != nil) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// TestABindingThatChangedIsNotRemoved: a delete has the version of the binding as a precondition.
func TestABindingThatChangedIsNotRemoved(t *testing.T) {
	var got *metav1.Preconditions
	r := newReconciler(t, interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, o client.Object,
		opts ...client.DeleteOption,
	) error {
		options := (&client.DeleteOptions{}).ApplyOptions(opts)
		got = options.Preconditions
		return apierrors.NewConflict(schema.GroupResource{Resource: "managedclustersetbindings"}, o.GetName(), errBoom)
	}}, nil, grantBinding("dev"))
	if err := r.reconcileNow(t); err != nil {
		t.Errorf("a conflict is no failure: %v", err)
	}
	if got == nil || got.UID == nil || got.ResourceVersion == nil || *got.ResourceVersion == "" {
		t.Errorf("preconditions %v, want the uid and the resource version", got)
	}
}

func TestAllNamespacesAreEnqueued(t *testing.T) {
	r := newReconciler(t, interceptor.Funcs{}, nil, account(team, Account), account("shop", Account), account("idle", "default"))
	var enqueued []string
	r.enqueue = func(namespace string) { enqueued = append(enqueued, namespace) }
	if _, err := r.Reconcile(t.Context(), request(allNamespaces)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"shop", team}, enqueued); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
}

// TestDeprecatedLabels checks that bindings of an older release are revoked like all others, and get the new label. The
// deprecated label stays until the new label is guarded.
func TestDeprecatedLabels(t *testing.T) {
	older := func(set string) *clusterv1beta2.ManagedClusterSetBinding {
		out := userBinding(set)
		out.Labels = map[string]string{clusterv1beta2.DeprecatedMadeByLabel: MadeByGrant, "a": "b"}
		return out
	}
	for sentence, test := range map[string]struct {
		guarded bool
		want    map[string]string
	}{
		"the new label is guarded": {true, map[string]string{"a": "b", "berth-project.io/binding-made-by": "grant"}},
		"the new label is not guarded": {false, map[string]string{
			"a": "b", "berth-project.io/binding-made-by": "grant",
			"cluster.open-cluster-management.io/binding-made-by": "grant",
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newReconciler(t, interceptor.Funcs{}, []string{"dev"}, account(team, Account), set("dev"), set("prod"), older("dev"), older("prod"),
				userBinding("mine"))
			r.guarded = func(context.Context) (bool, error) { return test.guarded, nil }
			if err := r.reconcileNow(t); err != nil {
				t.Fatal(err)
			}
			list := &clusterv1beta2.ManagedClusterSetBindingList{}
			if err := r.client.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			got := map[string]map[string]string{}
			for _, binding := range list.Items {
				got[binding.Name] = binding.Labels
			}
			if diff := cmp.Diff(map[string]map[string]string{"dev": test.want, "mine": nil}, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}
