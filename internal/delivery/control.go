package delivery

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// control returns what people decided about the rollout of a set; nil for nothing.
func (r *reconciler) control(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (*rolloutv1alpha1.RolloutControlSpec, error) {
	out := &rolloutv1alpha1.RolloutControl{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(set), out); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil //nolint:nilnil // nothing was decided
		}
		return nil, fmt.Errorf("reading RolloutControl %s/%s: %w", set.Namespace, set.Name, err)
	}
	return &out.Spec, nil
}
