// Package builtin owns the sets that always exist: `default`, which has the clusters that are in no other exclusive set, and
// `global`, which has every cluster. It defines their selectors, and writes nothing.
package builtin

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// Names returns the names of the sets.
func Names() []string {
	return []string{clusterv1beta2.DefaultClusterSetName, clusterv1beta2.GlobalClusterSetName}
}

// Set returns a built-in set with its required selector; nil for any other name.
func Set(name string) *clusterv1beta2.ManagedClusterSet {
	out := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	switch name {
	case clusterv1beta2.DefaultClusterSetName:
		out.Spec.ClusterSelector.SelectorType = clusterv1beta2.ExclusiveClusterSetLabel
	case clusterv1beta2.GlobalClusterSetName:
		out.Spec.ClusterSelector.SelectorType, out.Spec.ClusterSelector.LabelSelector = clusterv1beta2.LabelSelector, &metav1.LabelSelector{}
	default:
		return nil
	}
	return out
}

// Restored returns a set with its required selector. It returns the set itself where the selector is right, where the set is
// not built in, and where its annotation keeps it as it is.
func Restored(set *clusterv1beta2.ManagedClusterSet) *clusterv1beta2.ManagedClusterSet {
	must := Set(set.Name)
	if must == nil || set.Annotations[clusterv1beta2.AutoUpdateAnnotation] == "false" ||
		equality.Semantic.DeepEqual(set.Spec.ClusterSelector, must.Spec.ClusterSelector) {
		return set
	}
	out := set.DeepCopy()
	out.Spec.ClusterSelector = must.Spec.ClusterSelector
	return out
}
