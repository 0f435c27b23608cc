package rollouts

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	list := &appsv1.ControllerRevisionList{}
	if err := f.Hub.List(ctx, list, client.InNamespace(set.Namespace), keptOf(set)); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	f.revision, f.template = revision, formerIn(set, list.Items)
	return f.template, nil
}

// keptOf selects the kept templates of a set.
func keptOf(set *workv1alpha1.ManifestWorkReplicaSet) client.MatchingLabels {
	return client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
}

// formerIn finds the template of status.currentRevision. A template that cannot be read is not used, as in the manager.
func formerIn(set *workv1alpha1.ManifestWorkReplicaSet, kept []appsv1.ControllerRevision) *workv1.ManifestWorkSpec {
	for i := range kept {
		if plan.RevisionHash(set, &kept[i]) != set.Status.CurrentRevision {
			continue
		}
		if template, err := plan.RevisionTemplate(&kept[i]); err == nil {
			return template
		}
	}
	return nil
}
