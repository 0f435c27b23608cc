package cleanup

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// mayEnd passes works that are being deleted, and finished works with a time to live. A settled fleet wakes nothing.
func mayEnd() predicate.Predicate {
	ends := func(object client.Object) bool {
		work, ok := object.(*workv1.ManifestWork)
		if !ok {
			return false
		}
		return finishedAs(work) != "" || !work.DeletionTimestamp.IsZero()
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return ends(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return ends(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return ends(e.Object) }, // its sighting ends
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onlyDeletions passes clusters that are gone.
func onlyDeletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// worksOf returns the works of a cluster.
func (r *reconciler) worksOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	var works workv1.ManifestWorkList
	if err := r.client.List(ctx, &works, client.InNamespace(cluster.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the works of a cluster that is gone", "cluster", cluster.GetName())
		return nil
	}
	out := make([]reconcile.Request, 0, len(works.Items))
	for i := range works.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&works.Items[i])})
	}
	return out
}
