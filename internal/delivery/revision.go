package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/apply"
)

var errTaken = errors.New("another client has an object of this name: delete it")

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
	var err error
	if out.revisions, err = r.readRevisions(ctx, set); err != nil {
		return nil, err
	}
	former := set.Status.CurrentRevision
	for _, revision := range out.revisions {
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

// readRevisions returns all objects that may keep templates of a set. They are read-only.
func (r *reconciler) readRevisions(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) ([]plan.Revision, error) {
	var out []plan.Revision
	label := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
	options := []client.ListOption{client.InNamespace(set.Namespace), label, client.UnsafeDisableDeepCopy}
	revisions := &appsv1.ControllerRevisionList{}
	if err := r.client.List(ctx, revisions, options...); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	for i := range revisions.Items {
		out = append(out, &revisions.Items[i])
	}
	if !r.options.FormerTemplates() {
		return out, nil
	}
	formers := &rolloutv1alpha1.FormerTemplateList{}
	if err := r.client.List(ctx, formers, options...); err != nil {
		return nil, fmt.Errorf("listing the FormerTemplates of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	for i := range formers.Items {
		out = append(out, &formers.Items[i])
	}
	return out, nil
}

// keepTemplates keeps the present template and drops surplus ones. It returns why the present one is not stored, and what to do; empty
// where it is. That delays no delivery of it, but no other template starts once it has finished.
func (r *reconciler) keepTemplates(
	ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet, hash string, revisions []plan.Revision,
) (unkept string) {
	todo, err := plan.Revisions(set, hash, revisions)
	if err == nil {
		err = r.storePresent(ctx, set, hash, todo)
	}
	if err != nil && !ended(ctx) {
		unkept = remedy(err)
	}
	if s.setUnkept(unkept) && unkept != "" {
		log.FromContext(ctx).Info("the template was not kept, so no rollout can return to it", "hash", hash, "cause", unkept)
	}
	if err != nil {
		return unkept
	}
	if err := r.tidyRevisions(ctx, todo); err != nil && !ended(ctx) {
		log.FromContext(ctx).Info("the kept templates were not brought in order", "cause", err.Error())
	}
	return ""
}

// storePresent stores the present template. A set that goes with its namespace needs none.
func (r *reconciler) storePresent(
	ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet, hash string, todo plan.RevisionPlan,
) error {
	if todo.Create == nil {
		return nil
	}
	if err := r.deleteRevisions(ctx, todo.Replaced); err != nil {
		return err
	}
	err := r.client.Create(ctx, todo.Create)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.isKept(ctx, set, hash, todo.Create)
	case err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("creating %s %s/%s: %w", plan.RevisionKind(todo.Create), todo.Create.GetNamespace(), todo.Create.GetName(), err)
	default:
		return nil
	}
}

// isKept returns an error unless the object with the name of a kept template keeps it. The cache may not show it yet.
func (r *reconciler) isKept(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet, hash string, revision plan.Revision) error {
	kind, err := r.client.GroupVersionKindFor(revision)
	if err != nil {
		return fmt.Errorf("finding the kind of a kept template: %w", err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	named := client.MatchingFields{metav1.ObjectNameField: revision.GetName()}
	if err := r.live.List(ctx, list, client.InNamespace(revision.GetNamespace()), named); err != nil {
		return fmt.Errorf("reading %s %s/%s: %w", kind.Kind, revision.GetNamespace(), revision.GetName(), err)
	}
	for i := range list.Items {
		if plan.RevisionHash(set, &list.Items[i]) != hash {
			return fmt.Errorf("%w: %s %s/%s", errTaken, kind.Kind, revision.GetNamespace(), revision.GetName())
		}
	}
	return nil
}

// tidyRevisions writes the rest of a plan. What another client wrote or deleted meanwhile counts as done: the next pass reads it.
func (r *reconciler) tidyRevisions(ctx context.Context, todo plan.RevisionPlan) error {
	if todo.Renew != nil {
		after := plan.Renumbered(todo.Renew, todo.Number)
		patch := apply.Fenced(todo.Renew)
		if err := r.client.Patch(ctx, after, patch); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("numbering %s %s/%s: %w", plan.RevisionKind(after), after.GetNamespace(), after.GetName(), err)
		}
	}
	if todo.Finish != nil {
		after := plan.MarkedFinished(todo.Finish)
		patch := apply.Fenced(todo.Finish)
		if err := r.client.Patch(ctx, after, patch); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("marking %s %s/%s as finished: %w", plan.RevisionKind(after), after.GetNamespace(), after.GetName(), err)
		}
	}
	return r.deleteRevisions(ctx, slices.Concat(todo.Replaced, todo.Delete))
}

func (r *reconciler) deleteRevisions(ctx context.Context, revisions []plan.Revision) error {
	for _, revision := range revisions {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, revision, client.Preconditions{UID: new(revision.GetUID())})); err != nil {
			return fmt.Errorf("deleting %s %s/%s: %w", plan.RevisionKind(revision), revision.GetNamespace(), revision.GetName(), err)
		}
	}
	return nil
}

// remedy returns why a template was not stored, and what to do. The text of a refusal as invalid may repeat the content, so it is left out.
func remedy(err error) string {
	switch {
	case errors.Is(err, plan.ErrTooLarge):
		return err.Error() + "; divide the set into smaller ones"
	case meta.IsNoMatchError(err):
		return "the hub lacks the definition of " + rolloutv1alpha1.Resource("formertemplates").String() + "; apply the definitions in config/crd"
	case apierrors.IsForbidden(err):
		return err.Error() + "; apply the roles in config/delivery, or raise the quota"
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return "the API server refuses it as invalid; look for a policy or an older definition that does"
	default:
		return err.Error() + "; the manager tries again"
	}
}
