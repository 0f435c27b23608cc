// Package cleanup runs the controller that deletes ManifestWorks which have finished, and lets those go whose cluster is gone.
//
// It deletes a work without a set once spec.deleteOption.ttlSecondsAfterFinished is over. It removes the finalizer of the agent from a
// work whose ManagedCluster does not exist, some time after the work was deleted. The invariant: each write has the UID and the resource
// version of the work that was read.
package cleanup

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/apply"
)

// Name is the name of the controller in logs and metrics.
const Name = "workcleanup"

// blockedRetry is the delay between attempts while another controller keeps the works of the hub, conflictRetry after a conflict.
const blockedRetry = 30 * time.Second

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	r := &reconciler{
		client: mgr.GetClient(), options: options, recorder: mgr.GetEventRecorder("workcleanup-controller"),
		missing:  sightings{first: map[string]sighting{}, keep: 2 * options.Timeout},
		finished: sightings{first: map[string]sighting{}},
	}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&workv1.ManifestWork{}, builder.WithPredicates(mayEnd())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.worksOf), builder.WithPredicates(onlyDeletions())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the workcleanup controller: %w", err)
	}
	return nil
}

// reconciler reconciles the end of works.
type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	options  Options
	// missing are the clusters that do not exist, finished the works that are complete. Both are bounded by the works.
	missing, finished sightings
}

// Reconcile looks at one work.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	work, now := &workv1.ManifestWork{}, r.options.Clock.Now()
	if err := r.client.Get(ctx, request.NamespacedName, work); err != nil {
		r.finished.look(request.String(), "", now)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := r.client.Get(ctx, client.ObjectKey{Name: work.Namespace}, &clusterv1.ManagedCluster{})
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading ManagedCluster %s: %w", work.Namespace, err)
	}
	cluster := ""
	if err != nil {
		cluster = "missing"
	}
	todo, after := makePlan(input{
		work: work, missing: r.missing.look(work.Namespace, cluster, now), finished: r.finished.look(request.String(), finishedAs(work), now),
		timeout: r.options.Timeout, now: now,
	})
	switch todo {
	case remove:
		err = r.remove(ctx, work)
	case release:
		err = r.release(ctx, work)
	case keep:
		err = nil
	}
	return apply.Result(ctx, after, err)
}

func (r *reconciler) remove(ctx context.Context, work *workv1.ManifestWork) error {
	err := r.client.Delete(ctx, work, apply.Unchanged(work))
	if err == nil {
		log.FromContext(ctx).Info("the work has finished and is deleted", "ttl", ttl(work).String())
	}
	return err //nolint:wrapcheck // the API server names the work
}

// release removes the finalizer of the agent, and reports what may be left on the member.
func (r *reconciler) release(ctx context.Context, work *workv1.ManifestWork) error {
	next := work.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(each string) bool { return each == workv1.ManifestWorkFinalizer })
	if err := r.client.Patch(ctx, next, apply.Fenced(work)); err != nil {
		return err //nolint:wrapcheck // the API server names the work
	}
	event := releasedEvent(work.Namespace, work.Name)
	r.recorder.Eventf(work, nil, corev1.EventTypeWarning, event.Reason, event.Action, "%s", event.Note)
	return nil
}
