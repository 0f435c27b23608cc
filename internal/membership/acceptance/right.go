package acceptance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/membership/registration"
)

// heldRetry is the delay between attempts to remove rights while the hub lacks a definition of Berth.
const heldRetry = 30 * time.Second

// withoutRights reports whether the agents of a cluster have no rights: it waits for its acceptance, has no agent, or is being deleted
// without the finalizer that keeps it until its rights are removed.
func withoutRights(cluster *clusterv1.ManagedCluster) bool {
	if granted(cluster) {
		return false
	}
	return !cluster.DeletionTimestamp.IsZero() || !registration.AdmitsAgent(cluster) && !registration.Denied(cluster)
}

// removeRights deletes the roles and bindings of a cluster that does not exist. Its finalizers may have been removed by hand, or a plan
// that was made from an older version of the cluster created them after the last step of the deletion. The same holds for a cluster that
// was made anew under the name and waits for its acceptance.
func (r *reconciler) removeRights(ctx context.Context, cluster string) (reconcile.Result, error) {
	found, err := r.findRights(ctx, cluster)
	if err != nil || len(found) == 0 {
		return reconcile.Result{}, err
	}
	live := &clusterv1.ManagedCluster{}
	switch err := r.live.Get(ctx, client.ObjectKey{Name: cluster}, live); {
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("reading ManagedCluster %s: %w", cluster, err)
	case err == nil && !withoutRights(live):
		return reconcile.Result{}, nil // the cache shows it soon
	}
	for _, object := range found {
		err := r.client.Delete(ctx, object, apply.Unchanged(object))
		if apierrors.IsServiceUnavailable(err) { // such as while a definition is missing: the cluster may be there again soon
			log.FromContext(ctx).Info("the rights of a missing cluster are not removed now", "name", object.GetName(), "cause", err.Error())
			return reconcile.Result{RequeueAfter: heldRetry}, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("deleting %T %s of a cluster that does not exist: %w", object, object.GetName(), err)
		}
		log.FromContext(ctx).Info("deleted, because its cluster does not exist", "kind", fmt.Sprintf("%T", object), "name", object.GetName())
	}
	return reconcile.Result{}, nil
}

// findRights returns what this controller gives the agents of a cluster, and what a token of an agent would use again. Each object has the
// name that this controller uses, the label of the cluster, and a binding is one of its roles: an object of another user is never one of
// them. The roles that all agents share belong to no cluster.
func (r *reconciler) findRights(ctx context.Context, cluster string) ([]client.Object, error) {
	var out []client.Object
	add := func(namespace, name string, object client.Object, ours func() bool) error {
		err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if err == nil && object.GetLabels()[clusterv1.ClusterNameLabelKey] == cluster && ours() {
			out = append(out, object)
		}
		return client.IgnoreNotFound(err)
	}
	for _, each := range []struct{ name, role string }{
		{registration.AgentBinding(cluster), registration.AgentRole},
		{registration.WorkBinding(cluster), registration.WorkRole},
		{registration.AccountBinding, registration.AccountRole},
		{inventoryName, inventoryRole},
	} {
		binding := newRoleBinding()
		if err := add(cluster, each.name, binding, func() bool { return binding.RoleRef == roleRef(each.role) }); err != nil {
			return nil, err
		}
	}
	if !registration.TakesSharedRole(cluster) {
		name := registration.ClusterRole(cluster)
		binding, role := newClusterRoleBinding(), newClusterRole()
		if err := add("", name, binding, func() bool { return binding.RoleRef == roleRef(name) }); err != nil {
			return nil, err
		}
		if err := add("", name, role, func() bool { return true }); err != nil {
			return nil, err
		}
	}
	return r.withAccount(ctx, cluster, out)
}

// withAccount adds the service account of the agent where a binding of it is among the rights: its tokens would count again once a cluster
// of the name is accepted.
func (r *reconciler) withAccount(ctx context.Context, cluster string, rights []client.Object) ([]client.Object, error) {
	for _, each := range rights {
		if _, ok := each.(*rbacv1.RoleBinding); !ok || each.GetName() != registration.AccountBinding {
			continue
		}
		account := &corev1.ServiceAccount{}
		err := r.live.Get(ctx, client.ObjectKey{Namespace: cluster, Name: registration.AgentAccount}, account)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading ServiceAccount %s/%s: %w", cluster, registration.AgentAccount, err)
		}
		if err == nil && account.Labels[clusterv1.ClusterNameLabelKey] == cluster {
			return append(rights, account), nil
		}
	}
	return rights, nil
}
