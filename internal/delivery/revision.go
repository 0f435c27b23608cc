package delivery

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// Revisions selects the ControllerRevisions of sets. The cache of the manager holds no other.
func Revisions() labels.Selector {
	requirement, err := labels.NewRequirement(workv1.ReplicaSetLabel, selection.Exists, nil)
	if err != nil {
		panic("replicaset: the label of sets is invalid: " + err.Error())
	}
	return labels.NewSelector().Add(*requirement)
}

// templates are the templates of a set that can be written, by hash.
type templates map[string]*workv1.ManifestWorkSpec

// readTemplates reads the kept templates of a set: the present one, and that of the last finished rollout.
func (r *reconciler) readTemplates(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet, hash string) (*specs, error) {
	out := &specs{hash: hash, stored: templates{hash: &set.Spec.ManifestWorkTemplate}}
	list := &appsv1.ControllerRevisionList{}
	selected := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
	if err := r.client.List(ctx, list, client.InNamespace(set.Namespace), selected, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	former := set.Status.CurrentRevision
	for i := range list.Items {
		revision := &list.Items[i]
		out.revisions = append(out.revisions, revision)
		if former == "" || former == hash || plan.RevisionHash(set, revision) != former {
			continue
		}
		template, err := plan.RevisionTemplate(revision)
		if err != nil {
			log.FromContext(ctx).Info("a kept template is not used", "cause", err.Error())
			continue
		}
		out.stored[former] = template
	}
	return out, nil
}

// keepTemplates keeps the present template and drops surplus ones. A template that cannot be kept is logged: it delays no delivery.
func (r *reconciler) keepTemplates(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet, hash string, revisions []*appsv1.ControllerRevision) {
	todo, err := plan.Revisions(set, hash, revisions)
	if err == nil {
		err = r.storeRevisions(ctx, todo)
	}
	if err != nil && !ended(ctx) {
		log.FromContext(ctx).Info("the template was not kept, so no rollout can return to it", "hash", hash, "cause", err.Error())
	}
}

// storeRevisions writes a plan. What another client wrote or deleted meanwhile counts as done: the next pass reads it. A set that goes
// with its namespace needs no template.
func (r *reconciler) storeRevisions(ctx context.Context, todo plan.RevisionPlan) error {
	if todo.Create != nil {
		err := r.client.Create(ctx, todo.Create)
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return fmt.Errorf("creating ControllerRevision %s/%s: %w", todo.Create.Namespace, todo.Create.Name, err)
		}
	}
	if todo.Renew != nil {
		after := todo.Renew.DeepCopy()
		after.Revision = todo.Number
		patch := client.MergeFromWithOptions(todo.Renew, client.MergeFromWithOptimisticLock{})
		if err := r.client.Patch(ctx, after, patch); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("numbering ControllerRevision %s/%s: %w", after.Namespace, after.Name, err)
		}
	}
	if todo.Finish != nil {
		after := todo.Finish.DeepCopy()
		after.Annotations[plan.FinishedAnnotation] = "true"
		patch := client.MergeFromWithOptions(todo.Finish, client.MergeFromWithOptimisticLock{})
		if err := r.client.Patch(ctx, after, patch); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("marking ControllerRevision %s/%s as finished: %w", after.Namespace, after.Name, err)
		}
	}
	for _, revision := range todo.Delete {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, revision.DeepCopy(), client.Preconditions{UID: &revision.UID})); err != nil {
			return fmt.Errorf("deleting ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
		}
	}
	return nil
}
