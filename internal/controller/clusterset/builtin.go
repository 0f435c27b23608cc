package clusterset

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// builtIn returns the selectors of the sets that always exist: `default`, where a cluster is that is in no other
// exclusive set, and `global`, which has every cluster.
func builtIn() map[string]clusterv1beta2.ManagedClusterSelector {
	return map[string]clusterv1beta2.ManagedClusterSelector{
		clusterv1beta2.DefaultClusterSetName: {SelectorType: clusterv1beta2.ExclusiveClusterSetLabel},
		clusterv1beta2.GlobalClusterSetName:  {SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}},
	}
}

// create makes a built-in set that does not exist; for any other name it does nothing.
func (r *reconciler) create(ctx context.Context, name string) error {
	selector, must := builtIn()[name]
	if !must {
		return nil
	}
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Spec.ClusterSelector = selector
	if err := r.client.Create(ctx, set); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating ManagedClusterSet %s: %w", name, err)
	}
	return nil
}

// restore puts back the selector of a built-in set, unless its annotation asks to leave it.
func (r *reconciler) restore(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) error {
	selector, must := builtIn()[set.Name]
	if !must || set.Annotations[clusterv1beta2.AutoUpdateAnnotation] == "false" ||
		equality.Semantic.DeepEqual(set.Spec.ClusterSelector, selector) {
		return nil
	}
	before := set.DeepCopy()
	set.Spec.ClusterSelector = selector
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, set, patch); err != nil {
		return fmt.Errorf("restoring the selector of ManagedClusterSet %s: %w", set.Name, err)
	}
	return nil
}
