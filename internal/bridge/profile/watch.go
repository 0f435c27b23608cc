package profile

import (
	"bytes"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/changes"
)

// Decisions selects the PlacementDecisions of multicluster.x-k8s.io that a cluster manager writes.
func Decisions(manager string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{multiclusterv1alpha1.ClusterManagerLabel: manager})
}

// profileChanged passes the changes of a cluster that may change its profiles. Capacity, taints and leases do not.
func profileChanged() predicate.Predicate {
	return changes.Of(func(before, after *clusterv1.ManagedCluster) bool {
		return before.UID != after.UID || !maps.Equal(before.Labels, after.Labels) || changes.Deletion(before, after) ||
			before.Annotations[clusterv1.InventoryProfileAnnotationKey] != after.Annotations[clusterv1.InventoryProfileAnnotationKey] ||
			before.Spec.HubAcceptsClient != after.Spec.HubAcceptsClient || !sameAddress(before, after) ||
			before.Status.Version != after.Status.Version || !slices.Equal(before.Status.ClusterClaims, after.Status.ClusterClaims) ||
			!sameCondition(before, after, clusterv1.ManagedClusterConditionAvailable) ||
			!sameCondition(before, after, clusterv1.ManagedClusterConditionJoined)
	})
}

// placementChanged passes creations and deletions of placements, and changes of what a decision is compared with: the status, and whether
// another scheduler writes it. The status is written last.
func placementChanged() predicate.Predicate {
	return changes.Of(func(before, after *clusterv1beta1.Placement) bool {
		return before.UID != after.UID || !equality.Semantic.DeepEqual(before.Status, after.Status) ||
			before.Annotations[clusterv1beta1.PlacementDisableAnnotation] != after.Annotations[clusterv1beta1.PlacementDisableAnnotation]
	})
}

// sameAddress reports whether the first client configuration is the same.
func sameAddress(a, b *clusterv1.ManagedCluster) bool {
	x, y := a.Spec.ManagedClusterClientConfigs, b.Spec.ManagedClusterClientConfigs
	if len(x) == 0 || len(y) == 0 {
		return len(x) == len(y)
	}
	return x[0].URL == y[0].URL && bytes.Equal(x[0].CABundle, y[0].CABundle)
}

// sameCondition reports whether the status and the reason of a condition are the same.
func sameCondition(a, b *clusterv1.ManagedCluster, kind string) bool {
	x, y := meta.FindStatusCondition(a.Status.Conditions, kind), meta.FindStatusCondition(b.Status.Conditions, kind)
	if x == nil || y == nil {
		return x == y
	}
	return x.Status == y.Status && x.Reason == y.Reason
}
