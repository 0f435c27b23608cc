package rollouts

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// FormerReader reads the template of the last finished rollout of a set, once for each revision. It is not safe for concurrent use.
type FormerReader struct {
	Hub client.Reader

	revision string
	template *workv1.ManifestWorkSpec
}

// Read returns the template of status.currentRevision; nil where it is not kept.
func (f *FormerReader) Read(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (*workv1.ManifestWorkSpec, error) {
	revision := set.Status.CurrentRevision
	switch {
	case revision == "":
		return nil, nil //nolint:nilnil // no former template is a normal answer
	case revision == f.revision && f.template != nil:
		return f.template, nil
	}
	present, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, fmt.Errorf("hashing the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	if revision == present {
		return &set.Spec.ManifestWorkTemplate, nil
	}
	kept, err := controllerRevisions(ctx, f.Hub, set)
	if err != nil {
		return nil, err
	}
	template := formerIn(set, kept)
	if template == nil {
		if kept, err = formerTemplates(ctx, f.Hub, set); err != nil {
			return nil, err
		}
		template = formerIn(set, kept)
	}
	f.revision, f.template = revision, template
	return f.template, nil
}

// controllerRevisions lists the ControllerRevisions that may keep templates of a set: those without a Secret.
func controllerRevisions(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) ([]plan.Revision, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := hub.List(ctx, list, client.InNamespace(set.Namespace), keptOf(set)); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	out := make([]plan.Revision, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// formerTemplates lists the FormerTemplates that may keep templates of a set: those with a Secret. A hub without the kind has none.
func formerTemplates(ctx context.Context, hub client.Reader, set *workv1alpha1.ManifestWorkReplicaSet) ([]plan.Revision, error) {
	list := &rolloutv1alpha1.FormerTemplateList{}
	err := hub.List(ctx, list, client.InNamespace(set.Namespace), keptOf(set))
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("listing the FormerTemplates of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	out := make([]plan.Revision, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// keptOf selects the kept templates of a set.
func keptOf(set *workv1alpha1.ManifestWorkReplicaSet) client.MatchingLabels {
	return client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
}

// formerIn finds the template of status.currentRevision. A template that cannot be read is not used, as in the manager.
func formerIn(set *workv1alpha1.ManifestWorkReplicaSet, kept []plan.Revision) *workv1.ManifestWorkSpec {
	for _, revision := range kept {
		if plan.RevisionHash(set, revision) != set.Status.CurrentRevision {
			continue
		}
		if template, err := plan.RevisionTemplate(revision); err == nil {
			return template
		}
	}
	return nil
}
