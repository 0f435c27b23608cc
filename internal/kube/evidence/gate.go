package evidence

import (
	"slices"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// openGates puts the mandatory groups of the strategies on record, with the clusters that have to prove the change.
func (r *run) openGates() {
	for _, p := range r.in.Placements {
		of := r.placement(p.Name)
		former := of.Gates
		of.Gates = nil
		for _, to := range rollout.MandatoryGroups(p.Strategy) {
			at := slices.IndexFunc(former, func(gate clusterv1alpha1.GateRecord) bool { return gate.MandatoryDecisionGroup == to })
			gate := clusterv1alpha1.GateRecord{MandatoryDecisionGroup: to}
			if at >= 0 {
				gate = former[at]
			} else if to.GroupName == "" {
				gate.Resolved = nameOf(p.Decided, to)
			}
			if len(gate.Clusters) == 0 && gate.Passed == "" && p.Complete {
				gate.Clusters = members(p.Decided, effective(gate))
			}
			of.Gates = append(of.Gates, gate)
		}
	}
}

// nameOf returns the name of the group that an index refers to; empty for a group without a name.
func nameOf(groups rollout.Groups, to clusterv1alpha1.MandatoryDecisionGroup) string {
	for _, group := range groups.Groups {
		if rollout.RefersTo(to, group.GroupKey) {
			return group.Name
		}
	}
	return ""
}

// members returns the clusters of a mandatory group, at most maxNamed.
func members(groups rollout.Groups, to clusterv1alpha1.MandatoryDecisionGroup) []string {
	var out []string
	for _, group := range groups.Groups {
		if rollout.RefersTo(to, group.GroupKey) {
			out = append(out, group.Clusters...)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxNamed)]
}

// passGates passes the mandatory groups that are proven, and those that a person passed.
func (r *run) passGates() {
	for _, p := range r.in.Placements {
		of := r.placement(p.Name)
		for i := range of.Gates {
			gate := &of.Gates[i]
			switch {
			case gate.Passed != "":
			case r.in.Passes != nil && r.in.Passes(p.Name, effective(*gate)):
				gate.Passed = clusterv1alpha1.GateApproved
			case r.proven(gate):
				gate.Passed = clusterv1alpha1.GateProven
			}
		}
	}
}

// proven reports whether the clusters of a mandatory group have proven the change: one has succeeded, and no cluster is left to start,
// under way, failed or lost.
func (r *run) proven(gate *clusterv1alpha1.GateRecord) bool {
	succeeded := 0
	for _, name := range gate.Clusters {
		c, entry := r.clusters[name], r.entries[name]
		switch {
		case entry != nil && entry.Phase != clusterv1alpha1.ClusterLeft && entry.Phase != clusterv1alpha1.ClusterForgiven:
			return false
		case entry != nil || c == nil || c.Placement == NoPlacement && !c.Held:
			// It left: what it showed before is on record.
		case c.State == rollout.StateToApply || c.Held:
			return false
		case c.State != rollout.StateSkip:
			succeeded++
		}
	}
	return succeeded > 0 || gate.Succeeded > 0
}

// proving reports whether a cluster of a mandatory group is under way under another placement, or starts there now.
func (r *run) proving(gate clusterv1alpha1.GateRecord, placement int, starts map[string]bool) bool {
	return slices.ContainsFunc(gate.Clusters, func(name string) bool {
		c, entry := r.clusters[name], r.entries[name]
		if c == nil || c.Placement == NoPlacement || c.Placement == placement {
			return false
		}
		return starts[name] || entry != nil && entry.Phase == clusterv1alpha1.ClusterInFlight
	})
}

// mustProve reports whether a mandatory group that is not passed waits for the proof of a cluster, in whatever group it is now.
func (r *run) mustProve(entry *clusterv1alpha1.ClusterRolloutRecord) bool {
	return slices.ContainsFunc(r.placement(entry.Placement).Gates, func(gate clusterv1alpha1.GateRecord) bool {
		return gate.Passed == "" && slices.Contains(gate.Clusters, entry.Name)
	})
}

// prove counts a cluster that succeeded, or that fails after it succeeded, in the mandatory groups that it has to prove.
func (r *run) prove(cluster string, by int32) {
	for i := range r.record.Placements {
		gates := r.record.Placements[i].Gates
		for j := range gates {
			if slices.Contains(gates[j].Clusters, cluster) {
				gates[j].Succeeded = max(0, gates[j].Succeeded+by)
			}
		}
	}
}

// effective returns the reference of a gate as it is meant: by the name that an index had when the rollout began.
func effective(gate clusterv1alpha1.GateRecord) clusterv1alpha1.MandatoryDecisionGroup {
	if gate.GroupName == "" && gate.Resolved != "" {
		return clusterv1alpha1.MandatoryDecisionGroup{GroupName: gate.Resolved}
	}
	return gate.MandatoryDecisionGroup
}
