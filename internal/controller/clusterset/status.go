package clusterset

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// label is what makes a cluster a member of an exclusive set.
type label struct {
	key, value string
}

// claim returns the label that a set claims for itself. Exclusive is false for sets that share their clusters.
func claim(set *clusterv1beta2.ManagedClusterSet) (claimed label, exclusive bool) {
	selector := set.Spec.ClusterSelector
	switch selector.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		return label{clusterv1beta2.ClusterSetLabel, set.Name}, true
	case clusterv1beta2.ExclusiveLabel:
		if selector.ExclusiveLabel != nil {
			return label{selector.ExclusiveLabel.Key, selector.ExclusiveLabel.Value}, true
		}
		return label{}, false
	default:
		return label{}, false
	}
}

// setConditions says on a set how many members it has, and which rivals claim its label. The condition Conflict is
// there only once there has been a conflict.
func setConditions(set *clusterv1beta2.ManagedClusterSet, members int, rivals []string, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	empty := metav1.Condition{
		Type: clusterv1beta2.ManagedClusterSetConditionEmpty, Status: metav1.ConditionTrue,
		Reason: clusterv1beta2.ReasonNoClusterMatched, Message: "No ManagedCluster selected",
		ObservedGeneration: set.Generation, LastTransitionTime: at,
	}
	if members > 0 {
		empty.Status, empty.Reason = metav1.ConditionFalse, clusterv1beta2.ReasonClustersSelected
		empty.Message = fmt.Sprintf("%d ManagedClusters selected", members)
	}
	meta.SetStatusCondition(&set.Status.Conditions, empty)

	known := meta.FindStatusCondition(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionConflict) != nil
	conflict := metav1.Condition{
		Type: clusterv1beta2.ManagedClusterSetConditionConflict, Status: metav1.ConditionFalse,
		Reason: clusterv1beta2.ReasonNoConflict, Message: "No other set claims the label of this one",
		ObservedGeneration: set.Generation, LastTransitionTime: at,
	}
	if len(rivals) > 0 {
		claimed, _ := claim(set)
		conflict.Status, conflict.Reason = metav1.ConditionTrue, clusterv1beta2.ReasonExclusiveLabelInUse
		conflict.Message = fmt.Sprintf("The label %s=%s is also claimed by [%s]: its clusters are in each of these sets",
			claimed.key, claimed.value, strings.Join(rivals, ","))
	}
	if known || len(rivals) > 0 {
		meta.SetStatusCondition(&set.Status.Conditions, conflict)
	}
}
