package acceptance

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// inventoryRefusedError reports that the manager may not let itself list a namespace.
type inventoryRefusedError struct{ error }

// apply executes a plan. It stops at the first failure: each write needs the writes before it.
func (r *reconciler) apply(ctx context.Context, stored *clusterv1.ManagedCluster, todo plan) error {
	cluster := stored.DeepCopy()
	if todo.addFinalizer {
		before := cluster.DeepCopy()
		cluster.Finalizers = append(cluster.Finalizers, clusterv1.ManagedClusterFinalizer)
		if err := r.client.Patch(ctx, cluster, apply.Fenced(before)); err != nil {
			return fmt.Errorf("adding the finalizer of ManagedCluster %s: %w", cluster.Name, err)
		}
	}
	for _, w := range todo.writes {
		if err := r.write(ctx, w); err != nil {
			return err
		}
	}
	for _, n := range todo.notes {
		r.emit(n.about, n.event)
	}
	if todo.recordAccount {
		if err := r.recordAccount(ctx, cluster, todo.writes, todo.account); err != nil {
			return err
		}
	}
	if err := r.recordJoin(ctx, cluster); err != nil {
		return err
	}
	if todo.condition != nil {
		before := cluster.DeepCopy()
		meta.SetStatusCondition(&cluster.Status.Conditions, *todo.condition)
		if err := r.client.Status().Patch(ctx, cluster, apply.Fenced(before)); err != nil {
			return fmt.Errorf("writing the condition %s of ManagedCluster %s: %w", todo.condition.Type, cluster.Name, err)
		}
		log.FromContext(ctx).Info("the condition of the cluster changed", "type", todo.condition.Type, "status", todo.condition.Status,
			"reason", todo.condition.Reason, "message", todo.condition.Message)
		if todo.event.Reason != "" {
			r.emit(cluster, todo.event)
		}
	}
	if todo.removeFinalizers {
		return r.removeFinalizers(ctx, cluster)
	}
	return nil
}

// removeFinalizers lets a cluster go. It removes the finalizer of the collector of Open Cluster Management as well, whose work is done.
func (r *reconciler) removeFinalizers(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	before := cluster.DeepCopy()
	cluster.Finalizers = slices.DeleteFunc(cluster.Finalizers, func(name string) bool {
		return name == clusterv1.ManagedClusterFinalizer || name == clusterv1.ManagedClusterResourceCleanupFinalizer
	})
	if err := r.client.Patch(ctx, cluster, apply.Fenced(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizers of ManagedCluster %s: %w", cluster.Name, err)
	}
	log.FromContext(ctx).Info("the cluster is removed from the hub")
	return nil
}

func (r *reconciler) write(ctx context.Context, w write) error {
	switch {
	case w.before == nil:
		err := r.client.Create(ctx, w.after)
		if apierrors.IsForbidden(err) && w.after.GetName() == inventoryName && !apierrors.HasStatusCause(err, "NamespaceTerminating") {
			return inventoryRefusedError{err}
		}
		if err != nil {
			return fmt.Errorf("creating %T %s: %w", w.after, w.after.GetName(), err)
		}
		log.FromContext(ctx).Info("created", "kind", fmt.Sprintf("%T", w.after), "name", w.after.GetName())
	case w.after == nil:
		err := r.client.Delete(ctx, w.before, apply.Unchanged(w.before))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %T %s: %w", w.before, w.before.GetName(), err)
		}
		log.FromContext(ctx).Info("deleted", "kind", fmt.Sprintf("%T", w.before), "name", w.before.GetName())
	default:
		if err := r.client.Patch(ctx, w.after, apply.Fenced(w.before)); err != nil {
			return fmt.Errorf("restoring %T %s: %w", w.after, w.after.GetName(), err)
		}
		log.FromContext(ctx).Info("restored", "kind", fmt.Sprintf("%T", w.after), "name", w.after.GetName())
	}
	return nil
}

func (r *reconciler) emit(about client.Object, event telemetry.Event) {
	r.recorder.Eventf(about, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}
