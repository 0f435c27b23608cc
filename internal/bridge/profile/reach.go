package profile

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
)

// reach finds which namespaces may use which clusters: those with a binding to a set that has the cluster. It reads from a cache, and
// changes nothing that it reads. The set itself counts and not condition Bound, which follows it.
type reach struct {
	client client.Reader

	mu sync.Mutex
	// compiled are the sets as they were last seen, by name.
	compiled map[string]compiledSet
}

// compiledSet is one version of a set.
type compiledSet struct {
	uid     types.UID
	version string
	set     *fleet.Set
}

func newReach(reader client.Reader) *reach {
	return &reach{client: reader, compiled: map[string]compiledSet{}}
}

// set returns a set; nil if it does not exist or is being deleted.
func (r *reach) set(ctx context.Context, name string) (*fleet.Set, error) {
	object := &clusterv1beta2.ManagedClusterSet{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, object)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err), err == nil && object.DeletionTimestamp != nil:
		delete(r.compiled, name)
		return nil, nil //nolint:nilnil // nil is the set that does not exist
	case err != nil:
		return nil, fmt.Errorf("reading ManagedClusterSet %s: %w", name, err)
	}
	if found := r.compiled[name]; found.set != nil && found.uid == object.UID && found.version == object.ResourceVersion {
		return found.set, nil
	}
	out := fleet.NewSet(object)
	r.compiled[name] = compiledSet{object.UID, object.ResourceVersion, out}
	return out, nil
}

// bindings returns the bindings of a namespace that are not being deleted, by the options of a list. They are read-only.
func (r *reach) bindings(ctx context.Context, options ...client.ListOption) ([]*clusterv1beta2.ManagedClusterSetBinding, error) {
	list := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing bindings: %w", err)
	}
	out := make([]*clusterv1beta2.ManagedClusterSetBinding, 0, len(list.Items))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// importedFrom reports whether a cluster follows a profile in a namespace. It is not published there: the namespace has its profile.
func importedFrom(cluster *clusterv1.ManagedCluster, namespace string) bool {
	return strings.HasPrefix(cluster.Annotations[clusterv1.InventoryProfileAnnotationKey], namespace+"/")
}

// membership returns whether a namespace may use a cluster.
func (r *reach) membership(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster) (membership, error) {
	bindings, err := r.bindings(ctx, client.InNamespace(namespace))
	if err != nil {
		return unknown, err
	}
	out, labels := outside, fleet.NewClusterFromLabels(cluster)
	for _, binding := range bindings {
		switch set, err := r.set(ctx, binding.Name); {
		case err != nil:
			return unknown, err
		case set == nil:
		case !set.Valid():
			out = unknown
		case set.Has(labels):
			return inside, nil
		}
	}
	return out, nil
}

// ofCluster returns the profiles that a cluster has in all namespaces that may use it. A set with a wrong selector may have any cluster:
// the profiles that its namespaces have follow their clusters.
func (r *reach) ofCluster(ctx context.Context, object client.Object) []reconcile.Request {
	cluster, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return nil
	}
	bindings, err := r.bindings(ctx)
	if err != nil {
		return nil // the context has ended
	}
	labels, members := fleet.NewClusterFromLabels(cluster), map[string]bool{}
	var out []reconcile.Request
	for _, binding := range bindings {
		has, known := members[binding.Name]
		if !known {
			set, err := r.set(ctx, binding.Name)
			has = err == nil && set != nil && (!set.Valid() || set.Has(labels))
			members[binding.Name] = has
		}
		if has {
			out = append(out, requestFor(binding.Namespace, cluster.Name))
		}
	}
	return out
}

// ofBinding returns the profiles that a binding may add to its namespace or remove from it.
func (r *reach) ofBinding(ctx context.Context, object client.Object) []reconcile.Request {
	members := r.members(ctx, object.GetName())
	return r.in(ctx, object.GetNamespace(), members)
}

// ofSet returns the profiles that a set may add to the namespaces that are bound to it, or remove from them.
func (r *reach) ofSet(ctx context.Context, object client.Object) []reconcile.Request {
	bindings, err := r.bindings(ctx, client.MatchingFields{bySet: object.GetName()})
	if err != nil {
		return nil // the context has ended
	}
	members := r.members(ctx, object.GetName())
	var out []reconcile.Request
	for _, binding := range bindings {
		out = append(out, r.in(ctx, binding.Namespace, members)...)
	}
	return out
}

// members returns the names of the clusters of a set.
func (r *reach) members(ctx context.Context, name string) []string {
	set, err := r.set(ctx, name)
	if err != nil || set == nil {
		return nil
	}
	list := &clusterv1.ManagedClusterList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the context has ended
	}
	var out []string
	for i := range list.Items {
		if set.Has(fleet.NewClusterFromLabels(&list.Items[i])) {
			out = append(out, list.Items[i].Name)
		}
	}
	return out
}

// in returns the profiles of clusters in a namespace, and those that the namespace has.
func (r *reach) in(ctx context.Context, namespace string, clusters []string) []reconcile.Request {
	out := make([]reconcile.Request, 0, len(clusters))
	for _, name := range clusters {
		out = append(out, requestFor(namespace, name))
	}
	list := &multiclusterv1alpha1.ClusterProfileList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return out // the context has ended
	}
	for i := range list.Items {
		out = append(out, requestFor(namespace, list.Items[i].Name))
	}
	return out
}

func requestFor(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
