package set

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/builtin"
)

// create creates a missing built-in set. For any other name it does nothing.
func (r *reconciler) create(ctx context.Context, name string) error {
	set := builtin.Set(name)
	if set == nil {
		return nil
	}
	if err := r.client.Create(ctx, set); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating ManagedClusterSet %s: %w", name, err)
	}
	return nil
}

// restore restores the selector of a built-in set.
func (r *reconciler) restore(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) error {
	restored := builtin.Restored(set)
	if restored == set {
		return nil
	}
	patch := apply.Fenced(set.DeepCopy())
	set.Spec = restored.Spec
	if err := r.client.Patch(ctx, set, patch); err != nil {
		return fmt.Errorf("restoring the selector of ManagedClusterSet %s: %w", set.Name, err)
	}
	return nil
}
