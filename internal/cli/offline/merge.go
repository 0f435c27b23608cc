package offline

import (
	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// MergeCluster applies a new manifest to a cluster: an absent status stays, and an unchanged taint keeps its time.
func MergeCluster(before, given *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	out := given.DeepCopy()
	if equality.Semantic.DeepEqual(out.Status, clusterv1.ManagedClusterStatus{}) {
		out.Status = before.Status
	}
	for i, taint := range out.Spec.Taints {
		for _, old := range before.Spec.Taints {
			if taint.TimeAdded.IsZero() && old.Key == taint.Key && old.Value == taint.Value && old.Effect == taint.Effect {
				out.Spec.Taints[i].TimeAdded = old.TimeAdded
			}
		}
	}
	return out
}

// MergePlacement applies a new manifest to a placement: the status stays, and a changed spec increments the generation.
func MergePlacement(before, given *clusterv1beta1.Placement) *clusterv1beta1.Placement {
	out := given.DeepCopy()
	out.Status, out.UID, out.Generation = before.Status, before.UID, before.Generation
	if !equality.Semantic.DeepEqual(before.Spec, given.Spec) {
		out.Generation++
	}
	return out
}
