package set

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// maxNamedSets is how many conflicting sets a message names.
const maxNamedSets = 10

// label is what makes a cluster a member of an exclusive set.
type label = clusterv1beta2.ExclusiveLabelSelector

// setState is what there is to report of a set.
type setState struct {
	// faults are the errors in the selector. members is the count if the selector is valid.
	faults  field.ErrorList
	members int
	// conflicting are the other sets that claim the same label, sorted.
	conflicting []string
	// held is set while the selector of the spec would take every member away. unknown is what it requires and no cluster has.
	held    bool
	unknown []string
}

// setConditions reports a finding on a set. The condition Conflict is there only once there has been a conflict, and SelectorHeld while the
// selector is held.
func setConditions(set *clusterv1beta2.ManagedClusterSet, found setState, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	conditions := []metav1.Condition{emptyCondition(found), conflictCondition(set, found.conflicting)}
	if found.held {
		conditions = append(conditions, heldCondition(set, found))
	} else {
		meta.RemoveStatusCondition(&set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionSelectorHeld)
	}
	for _, condition := range conditions {
		known := meta.FindStatusCondition(set.Status.Conditions, condition.Type) != nil
		if condition.Reason == clusterv1beta2.ReasonNoConflict && !known {
			continue
		}
		condition.ObservedGeneration, condition.LastTransitionTime = set.Generation, at
		meta.SetStatusCondition(&set.Status.Conditions, condition)
	}
}

func emptyCondition(found setState) metav1.Condition {
	out := metav1.Condition{Type: clusterv1beta2.ManagedClusterSetConditionEmpty}
	switch {
	case len(found.faults) > 0:
		out.Status, out.Reason = metav1.ConditionUnknown, clusterv1beta2.ReasonInvalidSelector
		out.Message = "The selector is invalid, so the members are unknown: " + found.faults[0].Error()
		if more := len(found.faults) - 1; more > 0 {
			out.Message += fmt.Sprintf(" (and %d more)", more)
		}
	case found.members > 0:
		out.Status, out.Reason = metav1.ConditionFalse, clusterv1beta2.ReasonClustersSelected
		out.Message = fmt.Sprintf("%d ManagedClusters selected", found.members)
	default:
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1beta2.ReasonNoClusterMatched
		out.Message = "No ManagedCluster selected"
	}
	return out
}

// selectorHeld reports whether a set reports that its selector is held.
func selectorHeld(set *clusterv1beta2.ManagedClusterSet) bool {
	return meta.IsStatusConditionTrue(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionSelectorHeld)
}

func heldCondition(set *clusterv1beta2.ManagedClusterSet, found setState) metav1.Condition {
	why := ""
	if len(found.unknown) > 0 {
		why = ": " + phrase.Join(found.unknown, phrase.MaxNames)
	}
	return metav1.Condition{
		Type: clusterv1beta2.ManagedClusterSetConditionSelectorHeld, Status: metav1.ConditionTrue, Reason: clusterv1beta2.ReasonSelectsNothing,
		Message: fmt.Sprintf("The selector of the spec selects no ManagedCluster%s. The %s of the selector before stay, until a "+
			"cluster matches or the selector changes. To follow the spec: "+
			"kubectl berth holds release managedclusterset/%s --hold Selector --reason WHY",
			why, phrase.Count(found.members, "member"), set.Name),
	}
}

func conflictCondition(set *clusterv1beta2.ManagedClusterSet, rivals []string) metav1.Condition {
	out := metav1.Condition{Type: clusterv1beta2.ManagedClusterSetConditionConflict}
	if len(rivals) == 0 {
		out.Status, out.Reason = metav1.ConditionFalse, clusterv1beta2.ReasonNoConflict
		out.Message = "No other set claims the label of this one"
		return out
	}
	claimed, _ := fleet.NewSet(set).ExclusiveLabel()
	named, more := rivals, ""
	if len(rivals) > maxNamedSets {
		named, more = rivals[:maxNamedSets], fmt.Sprintf(" and %d more", len(rivals)-maxNamedSets)
	}
	out.Status, out.Reason = metav1.ConditionTrue, clusterv1beta2.ReasonExclusiveLabelInUse
	out.Message = fmt.Sprintf("The label %s=%s is also claimed by [%s]%s: its clusters are in each of these sets",
		claimed.Key, claimed.Value, strings.Join(named, ","), more)
	return out
}
