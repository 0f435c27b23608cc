package explain

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// fleet is a namespace with a cluster set of the same name that is bound to it. The names of its clusters begin with the
// namespace's, and are sorted as they are numbered.
type fleet struct {
	*kit.Client
	t         *testing.T
	namespace string
	clusters  int
}

// newFleet returns a fleet with a number of clusters. It is removed after the test.
func newFleet(t *testing.T, clusters int) *fleet {
	t.Helper()
	f := &fleet{Client: kit.New(t, shared), t: t, namespace: shared.Namespace(t), clusters: clusters}
	t.Cleanup(f.remove)
	f.MustCreate(kit.Set(f.namespace), kit.Binding(f.namespace, f.namespace))
	workqueue.ParallelizeUntil(t.Context(), 16, clusters, func(i int) {
		if err := f.Create(t.Context(), f.cluster(i)); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fleet) remove() {
	ctx, in := context.WithoutCancel(f.t.Context()), client.InNamespace(f.namespace)
	workqueue.ParallelizeUntil(ctx, 16, f.clusters, func(i int) {
		if err := client.IgnoreNotFound(f.Delete(ctx, f.cluster(i))); err != nil {
			f.t.Error(err)
		}
	})
	for _, err := range []error{
		f.DeleteAllOf(ctx, &clusterv1beta1.Placement{}, in),
		client.IgnoreNotFound(f.Delete(ctx, kit.Set(f.namespace))),
	} {
		if err != nil {
			f.t.Error(err)
		}
	}
}

// name returns the name of a cluster by its number.
func (f *fleet) name(number int) string { return fmt.Sprintf("%s-%05d", f.namespace, number) }

func (f *fleet) names(numbers ...int) []string {
	out := []string{}
	for _, number := range numbers {
		out = append(out, f.name(number))
	}
	return out
}

// cluster returns a cluster that is not stored. Every third is in region a, b and c.
func (f *fleet) cluster(number int) *clusterv1.ManagedCluster {
	return kit.Cluster(f.name(number), clusterv1beta2.ClusterSetLabel, f.namespace, "fleet", f.namespace, "region", string(rune('a'+number%3)))
}

// unsaved returns a placement that is not stored.
func (f *fleet) unsaved(name string, change ...func(*clusterv1beta1.PlacementSpec)) *clusterv1beta1.Placement {
	out := kit.Placement(f.namespace, name)
	for _, apply := range change {
		apply(&out.Spec)
	}
	return out
}

func (f *fleet) placement(name string, change ...func(*clusterv1beta1.PlacementSpec)) {
	f.t.Helper()
	f.MustCreate(f.unsaved(name, change...))
}

func regions(values ...string) clusterv1beta1.ClusterSelector {
	return clusterv1beta1.ClusterSelector{LabelSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "region", Operator: metav1.LabelSelectorOpIn, Values: values},
	}}}
}

func within(values ...string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: regions(values...)}}
	}
}

func tiers(names ...string) func(*clusterv1beta1.PlacementSpec) {
	return func(spec *clusterv1beta1.PlacementSpec) {
		for _, name := range names {
			spec.Tiers = append(spec.Tiers, clusterv1beta1.ClusterTier{Name: name, ClusterSelector: regions(name)})
		}
	}
}

// change reads an object, changes it and stores it, until there is no conflict.
func change[T client.Object](f *fleet, object T, apply func(T)) {
	f.t.Helper()
	kit.NoError(f.t, retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		if err := f.Get(f.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		apply(object)
		return f.Update(f.t.Context(), object)
	}))
}

func (f *fleet) taint(numbers ...int) {
	f.t.Helper()
	for _, number := range numbers {
		change(f, f.cluster(number), func(c *clusterv1.ManagedCluster) {
			c.Spec.Taints = []clusterv1.Taint{{Key: "gpu", Value: "true", Effect: clusterv1.TaintEffectNoSelect}}
		})
	}
}

// grant gives a user a permission in the namespace, or in every namespace if it is empty.
func (f *fleet) grant(user, namespace string, rule rbacv1.PolicyRule) {
	f.t.Helper()
	subject := kit.User(user)
	meta := metav1.ObjectMeta{Namespace: namespace, GenerateName: "grant-"}
	if namespace != "" {
		role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}
		f.MustCreate(role)
		f.MustCreate(&rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: []rbacv1.Subject{subject},
			RoleRef: kit.Role(role.Name),
		})
		return
	}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}
	f.MustCreate(role)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{subject},
		RoleRef: kit.ClusterRole(role.Name),
	}
	f.MustCreate(binding)
	f.t.Cleanup(func() {
		for _, object := range []client.Object{binding, role} {
			if err := f.Delete(context.WithoutCancel(f.t.Context()), object); err != nil {
				f.t.Error(err)
			}
		}
	})
}

func mayOn(verbs []string, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{clusterv1.GroupName}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names}
}
