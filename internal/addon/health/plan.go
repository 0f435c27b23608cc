package health

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// The values of a feature label.
const (
	available   = "available"
	unhealthy   = "unhealthy"
	unreachable = "unreachable"
)

// labels returns the labels of a cluster with the feature labels of its add-ons. An add-on that is being deleted has no label,
// and neither has one whose name is too long for a label.
func labels(cluster *clusterv1.ManagedCluster, addOns []addonv1alpha1.ManagedClusterAddOn) map[string]string {
	out := maps.Clone(cluster.Labels)
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, addonv1alpha1.AddonFeatureLabelPrefix) })
	if out == nil {
		out = map[string]string{}
	}
	reachable := !meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable,
		metav1.ConditionUnknown)
	for i := range addOns {
		key := addonv1alpha1.AddonFeatureLabelPrefix + addOns[i].Name
		if addOns[i].DeletionTimestamp.IsZero() && len(validation.IsQualifiedName(key)) == 0 {
			out[key] = health(&addOns[i], reachable)
		}
	}
	return out
}

// withUnknownHealth returns an add-on with the condition Available that it gets while its cluster has Unknown: the reason and the message
// are those of the cluster. It returns nil where nothing changes: the cluster is reachable, the add-on has no health to lose, or it alone
// writes its health.
func withUnknownHealth(cluster *clusterv1.ManagedCluster, addOn *addonv1alpha1.ManagedClusterAddOn) *addonv1alpha1.ManagedClusterAddOn {
	lost := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	present := meta.FindStatusCondition(addOn.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	if lost == nil || lost.Status != metav1.ConditionUnknown || present == nil || present.Status == metav1.ConditionUnknown ||
		addOn.Status.HealthCheck.Mode == addonv1alpha1.HealthCheckModeCustomized || !addOn.DeletionTimestamp.IsZero() {
		return nil
	}
	out := addOn.DeepCopy()
	meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: metav1.ConditionUnknown, Reason: lost.Reason, Message: lost.Message,
	})
	return out
}

// health returns the value of a feature label. Without a report of the add-on, or of its cluster, it is unreachable.
func health(addOn *addonv1alpha1.ManagedClusterAddOn, reachable bool) string {
	condition := meta.FindStatusCondition(addOn.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	switch {
	case !reachable || condition == nil:
		return unreachable
	case condition.Status == metav1.ConditionTrue:
		return available
	case condition.Status == metav1.ConditionFalse:
		return unhealthy
	default:
		return unreachable
	}
}
