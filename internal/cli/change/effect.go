package change

import (
	"fmt"
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/source/file"
)

// WithoutEffect returns the parts of placements that match nothing on a course that has settled: decision groups, tiers and tolerations.
// They are no faults, and often mistakes.
func (s *Simulation) WithoutEffect(placements []*clusterv1beta1.Placement) []string {
	var out []string
	for _, placement := range placements {
		key := file.KeyOf(placement)
		result := s.evaluate(key)
		if result == nil || !result.Decided {
			continue
		}
		at := s.placements[key]
		for _, part := range slices.Concat(emptyGroups(at), emptyTiers(result), idleTolerations(result, at.placement)) {
			out = append(out, key.Namespace+"/"+key.Name+": "+part)
		}
	}
	return out
}

// emptyGroups returns the decision groups of the spec that have no cluster.
func emptyGroups(of *storedPlacement) []string {
	groups := resource.GroupsOf(of.slices)
	var out []string
	for _, wanted := range of.placement.Spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		has := func(group resource.Group) bool { return group.Name == wanted.GroupName && len(group.Clusters) > 0 }
		if !slices.ContainsFunc(groups, has) {
			out = append(out, fmt.Sprintf("no selected cluster is in the decision group %s", wanted.GroupName))
		}
	}
	return out
}

// emptyTiers returns the tiers that no cluster is in which matches the predicates.
func emptyTiers(result *engine.Result) []string {
	seen := map[string]bool{}
	for id := range result.Trace.Snapshot.Clusters() {
		seen[result.Trace.Tier(id)] = true
	}
	var out []string
	for _, tier := range result.Trace.Program.Tiers {
		if !seen[tier.Name] {
			out = append(out, fmt.Sprintf("no cluster that matches the predicates is in the tier %s", tier.Name))
		}
	}
	return out
}

// idleTolerations returns the keys of tolerations that no cluster in reach has a taint with.
func idleTolerations(result *engine.Result, placement *clusterv1beta1.Placement) []string {
	tainted := map[string]bool{}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		if inReach(result, id) {
			for _, taint := range cluster.Object.Spec.Taints {
				tainted[taint.Key] = true
			}
		}
	}
	var out []string
	for _, toleration := range placement.Spec.Tolerations {
		if toleration.Key != "" && !tainted[toleration.Key] {
			out = append(out, fmt.Sprintf("no cluster in its sets has a taint with the tolerated key %s", toleration.Key))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func inReach(result *engine.Result, id fleet.ID) bool { return len(result.Trace.Sets(id)) > 0 }
