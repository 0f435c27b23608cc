package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
)

// satisfied goes down the table of PlacementSatisfied.
func (r *run) satisfied(selected, fell int) engine.Condition {
	wanted := -1
	if r.spec.NumberOfClusters != nil {
		wanted = int(*r.spec.NumberOfClusters)
	}
	switch {
	case len(r.scope.valid) == 0:
		return satisfiedIs("False", "NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found in placement namespace")
	case len(r.scope.eligible) == 0:
		return satisfiedIs("False", "NoIntersection",
			"None of ManagedClusterSets ["+strings.Join(r.spec.ClusterSets, ",")+"] is bound to placement namespace")
	case len(r.scope.candidates) == 0 && len(r.scope.problems) == 0:
		return satisfiedIs("False", "AllManagedClusterSetsEmpty",
			"All ManagedClusterSets ["+strings.Join(r.scope.eligible, ",")+"] have no member ManagedCluster")
	case wanted == 0:
		return satisfiedIs("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
	case selected == 0 && fell > 0:
		return satisfiedIs("False", "NoManagedClusterMatched", "Each of the "+
			count(fell, "ManagedClusters that match the cluster predicates has a taint that is not tolerated"))
	case selected == 0:
		return satisfiedIs("False", "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate")
	case wanted < 0 || selected == wanted:
		return satisfiedIs("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
	default:
		return satisfiedIs("False", "NotAllDecisionsScheduled", count(wanted-selected, "cluster decisions unscheduled"))
	}
}

func satisfiedIs(status metav1.ConditionStatus, reason, message string) engine.Condition {
	return engine.Condition{Type: "PlacementSatisfied", Status: status, Reason: reason, Message: message}
}

func misconfiguredIs(problem string) engine.Condition {
	if problem == "" {
		return engine.Condition{
			Type: "PlacementMisconfigured", Status: "False", Reason: "Succeedconfigured", Message: "Placement configurations check pass",
		}
	}
	if len(problem) > 4096 {
		problem = strings.ToValidUTF8(problem[:4093], "") + "..."
	}
	return engine.Condition{Type: "PlacementMisconfigured", Status: "True", Reason: "Misconfigured", Message: problem}
}

// store works out what is stored in the end: exactly the slices of the outcome, and the status of the placement.
func (r *run) store(out *Outcome, strategy string) {
	placement := r.w.Placements[r.key]
	status := placement.Status.DeepCopy()
	status.NumberOfSelectedClusters = int32(out.Selected) //nolint:gosec // worlds are small
	status.DecisionGroups = []clusterv1beta1.DecisionGroupStatus{}
	for index, group := range out.Groups {
		line := clusterv1beta1.DecisionGroupStatus{DecisionGroupIndex: int32(index), DecisionGroupName: group.Name}
		for _, slice := range group.Slices {
			object := r.slice(slice, group.Name, index, strategy)
			line.Decisions = append(line.Decisions, object.Name)
			line.ClustersCount += int32(len(slice.Clusters)) //nolint:gosec // worlds are small
			out.Slices = append(out.Slices, object)
		}
		status.DecisionGroups = append(status.DecisionGroups, line)
	}
	slices.SortFunc(out.Slices, func(a, b *clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	if out.Decided || !slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == "PlacementSatisfied" }) {
		status.Conditions = r.with(status.Conditions, out.Satisfied)
	}
	status.Conditions = r.with(status.Conditions, out.Misconfigured)
	out.Status = status
}

// slice returns a slice as it is to be stored; what others wrote on it stays.
func (r *run) slice(of Numbered, group string, index int, strategy string) *clusterv1beta1.PlacementDecision {
	placement := r.w.Placements[r.key]
	out := &clusterv1beta1.PlacementDecision{}
	out.Namespace, out.Name = r.key.Namespace, fmt.Sprintf("%s-decision-%d", r.key.Name, of.Number)
	for name, stored := range r.w.Slices {
		if name.Namespace == out.Namespace && name.Name == out.Name {
			out = stored.DeepCopy()
		}
	}
	out.Labels = maps.Clone(out.Labels)
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels["cluster.open-cluster-management.io/placement"] = r.key.Name
	out.Labels["cluster.open-cluster-management.io/decision-group-name"] = group
	out.Labels["cluster.open-cluster-management.io/decision-group-index"] = strconv.Itoa(index)
	if strategy != "" {
		out.Annotations = maps.Clone(out.Annotations)
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[strategyAnnotation] = strategy
	}
	yes := true
	if !metav1.IsControlledBy(out, placement) {
		out.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "cluster.open-cluster-management.io/v1beta1", Kind: "Placement", Name: r.key.Name, UID: placement.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}}
	}
	out.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	for _, name := range of.Clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
	}
	return out
}

// with sets a condition; its time moves with its status alone.
func (r *run) with(conditions []metav1.Condition, want engine.Condition) []metav1.Condition {
	set := metav1.Condition{
		Type: want.Type, Status: want.Status, Reason: want.Reason, Message: want.Message,
		ObservedGeneration: r.w.Placements[r.key].Generation,
		LastTransitionTime: metav1.NewTime(r.w.Now.Truncate(time.Second)),
	}
	for i, have := range conditions {
		if have.Type != want.Type {
			continue
		}
		if have.Status == want.Status {
			set.LastTransitionTime = have.LastTransitionTime
		}
		conditions[i] = set
		return conditions
	}
	return append(conditions, set)
}
