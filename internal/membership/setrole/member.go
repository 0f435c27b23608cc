package setrole

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/changes"
)

// clustersBySet is the index of clusters by the value of their clusterset label.
const clustersBySet = "setrole.clusterset"

func setLabel(object client.Object) []string {
	if set := object.GetLabels()[clusterv1beta2.ClusterSetLabel]; set != "" {
		return []string{set}
	}
	return nil
}

// setsOfCluster returns the set that a cluster is in, if any. An update is mapped for the cluster before it too.
func setsOfCluster(_ context.Context, cluster client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, set := range setLabel(cluster) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: set}})
	}
	return out
}

// setLabelChanged passes creations, deletions and changes of the clusterset label.
func setLabelChanged() predicate.Predicate {
	return changes.Of(func(before, after client.Object) bool { return !slices.Equal(setLabel(before), setLabel(after)) })
}

// clusters returns the names of the clusters that the admin role of a set covers, sorted. It returns none while the policy that limits
// the admins is missing.
func (r *reconciler) clusters(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) (names []string, guarded bool, err error) {
	if !exclusive(set) {
		return nil, true, nil
	}
	if guarded, err = r.guarded(ctx); err != nil || !guarded {
		return nil, guarded, err
	}
	list := &clusterv1.ManagedClusterList{}
	if err := r.client.List(ctx, list, client.MatchingFields{clustersBySet: set.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, true, fmt.Errorf("listing the clusters of set %s: %w", set.Name, err)
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	if len(names) > clustersPerRole {
		log.FromContext(ctx).Info("the set has more clusters than its admin role can hold; its admins have no access to the rest",
			"clusters", len(names), "named", clustersPerRole)
		names = names[:clustersPerRole]
	}
	return names, true, nil
}
