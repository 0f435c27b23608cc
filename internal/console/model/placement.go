package model

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// Placement is a row of the list of placements.
type Placement struct {
	Key fleet.Key
	// Satisfied is True, False, or Unknown where nothing was decided yet.
	Satisfied       metav1.ConditionStatus
	Reason, Message string
	// Misconfigured is set if the spec is wrong, and the decisions are the last good ones.
	Misconfigured bool
	// Disabled and Deleting are why Berth does not decide it.
	Disabled, Deleting bool
	Selected           int
	// Wanted is the number of clusters that it wants; nil for all that qualify.
	Wanted *int32
	Groups int
	Held   int
	// Changed is when a condition last changed; zero if it is unknown.
	Changed time.Time
}

// NewPlacement returns the row of a placement.
func (s *State) NewPlacement(placement *clusterv1beta1.Placement) Placement {
	out := Placement{
		Key: file.KeyOf(placement), Satisfied: metav1.ConditionUnknown, Wanted: placement.Spec.NumberOfClusters,
		Disabled: placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true", Deleting: !placement.DeletionTimestamp.IsZero(),
	}
	for _, condition := range placement.Status.Conditions {
		if condition.LastTransitionTime.After(out.Changed) {
			out.Changed = condition.LastTransitionTime.Time
		}
	}
	if found := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied); found != nil {
		out.Satisfied, out.Reason, out.Message = found.Status, found.Reason, found.Message
	}
	wrong := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if wrong != nil && wrong.Status == metav1.ConditionTrue {
		out.Misconfigured, out.Reason, out.Message = true, wrong.Reason, wrong.Message
	}
	if disruption := placement.Status.Disruption; disruption != nil {
		for _, held := range disruption.Held {
			out.Held += len(held.Clusters)
		}
	}
	groups := s.GroupsOf(out.Key)
	out.Groups = len(groups)
	for _, group := range groups {
		out.Selected += group.Count
	}
	return out
}

// Placements returns every placement, those with a problem first, then by namespace and name. The result is shared and read-only.
func (s *State) Placements() []Placement { return Memo(s, "placements", s.newPlacements) }

func (s *State) newPlacements() []Placement {
	out := make([]Placement, 0, len(s.Bundle.Placements))
	for _, placement := range s.Bundle.Placements {
		out = append(out, s.NewPlacement(placement))
	}
	slices.SortStableFunc(out, func(a, b Placement) int { return cmp.Compare(a.rank(), b.rank()) })
	return out
}

// quietRank is the rank of a placement without a problem.
const quietRank = 2

// rank puts placements with a problem first.
func (p Placement) rank() int {
	switch {
	case p.Misconfigured:
		return 0
	case p.Satisfied != metav1.ConditionTrue && !p.Disabled:
		return 1
	default:
		return quietRank
	}
}

// Slice is a PlacementDecision with the clusters that it has.
type Slice struct {
	Name     string
	Clusters []string
}

// Group is a decision group with its slices.
type Group struct {
	// Index is the index as the label of the slices has it; empty if they lack the label.
	Index, Name string
	Count       int
	Slices      []Slice
}

// GroupsOf returns the decision groups of a placement, by index.
func (s *State) GroupsOf(key fleet.Key) []Group {
	var out []Group
	at := map[[2]string]int{}
	for _, stored := range s.Bundle.Decisions[key] {
		index, name := stored.Labels[clusterv1beta1.DecisionGroupIndexLabel], stored.Labels[clusterv1beta1.DecisionGroupNameLabel]
		group := [2]string{index, name}
		if _, known := at[group]; !known {
			at[group] = len(out)
			out = append(out, Group{Index: index, Name: name})
		}
		g := &out[at[group]]
		clusters := slices.Clone(plan.Clusters(stored))
		slices.Sort(clusters)
		g.Count += len(clusters)
		g.Slices = append(g.Slices, Slice{stored.Name, clusters})
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(number(a.Index), number(b.Index)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// number returns the index of a group; -1 if the text is no number.
func number(text string) int {
	out, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return out
}

// Ranked returns the clusters that passed every filter, by rank.
func Ranked(of *explain.Explanation) []*explain.Cluster {
	var out []*explain.Cluster
	for i := range of.Clusters {
		if of.Clusters[i].Rank > 0 {
			out = append(out, &of.Clusters[i])
		}
	}
	slices.SortFunc(out, func(a, b *explain.Cluster) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}

// Troubled reports whether a user should look at the placement.
func (p Placement) Troubled() bool { return p.rank() < quietRank }
