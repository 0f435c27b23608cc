package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// store stores the slices of the outcome and the status of the placement.
func (r *run) store(out *Outcome, strategy string, shown entries) {
	placement := r.w.Placements[r.key]
	status := placement.Status.DeepCopy()
	status.NumberOfSelectedClusters = int32(out.Selected) //nolint:gosec // states are small
	if out.Decided {
		status.NumberOfReluctantClusters = int32(out.Penalized) //nolint:gosec // states are small
	}
	status.DecisionGroups = []clusterv1beta1.DecisionGroupStatus{}
	for index, group := range out.Groups {
		line := clusterv1beta1.DecisionGroupStatus{DecisionGroupIndex: int32(index), DecisionGroupName: group.Name}
		for _, slice := range group.Slices {
			object := r.slice(slice, group.Name, index, strategy)
			object.Status.Decisions = shown.list(slice.Clusters)
			line.Decisions = append(line.Decisions, object.Name)
			line.ClustersCount += int32(len(slice.Clusters)) //nolint:gosec // states are small
			out.Slices = append(out.Slices, object)
		}
		status.DecisionGroups = append(status.DecisionGroups, line)
	}
	slices.SortFunc(out.Slices, func(a, b *clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	out.Status = status
	r.storeScores(out, shown)
}

// slice returns a wanted slice; metadata of other writers stays.
func (r *run) slice(of NumberedSlice, group string, index int, strategy string) *clusterv1beta1.PlacementDecision {
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
		delete(out.Annotations, deprecatedStrategyAnnotation)
	}
	yes := true
	if !metav1.IsControlledBy(out, placement) {
		out.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "cluster.open-cluster-management.io/v1beta1", Kind: "Placement", Name: r.key.Name, UID: placement.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}}
	}
	return out
}
