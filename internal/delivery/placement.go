package delivery

import (
	"cmp"
	"fmt"
	"strings"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
)

// reading is what the decision of a placement is worth.
type reading int

const (
	// decided placements have a complete decision.
	decided reading = iota
	// missing placements do not exist or are being deleted.
	missing
	// undecided placements have no slice.
	undecided
	// torn decisions are being changed, so the groups of clusters are not known.
	torn
	// partial decisions differ from the status of the placement, so slices may be missing. Clusters start, and all works stay.
	partial
)

// placementState is a placement of the spec.
type placementState struct {
	name      string
	reading   reading
	strategy  clusterv1alpha1.RolloutStrategy
	placement *clusterv1beta1.Placement
	decisions decision.Decisions
	// groups are the groups that the placement rules.
	groups rollout.Groups
	step   rollout.Step
	// frozen means that no cluster starts, whatever the strategy is.
	frozen bool
	// cause is the sign of a torn or partial decision, or why the placement is frozen.
	cause string
	// failureStrategy is what happens when the rollout is breached. returning means that it was, and that clusters return.
	failureStrategy workv1alpha1.FailureStrategy
	returning       bool
	// note is added to the message.
	note string
}

// complete reports whether a cluster that is not in the decision is not selected.
func (s *placementState) complete() bool { return s.reading == decided }

// readPlacements reads the decisions of the spec's placements and finds the clusters that they select. A placement that the spec
// names twice counts once.
func (p *planner) readPlacements() {
	seen := map[string]bool{}
	for _, reference := range p.in.Set.Spec.PlacementRefs {
		if seen[reference.Name] {
			continue
		}
		seen[reference.Name] = true
		s := placementState{
			name: reference.Name, failureStrategy: reference.RolloutStrategy.FailureStrategy,
			strategy: withApprovalsFor(p.in.Hash, reference.RolloutStrategy.RolloutStrategy),
		}
		s.read(p.in.Placements)
		if s.reading != missing {
			for _, name := range s.clusters() {
				c := p.cluster(name)
				c.placements = append(c.placements, len(p.placements))
			}
		}
		p.placements = append(p.placements, s)
	}
}

// withApprovalsFor returns a strategy without approvals that are for another revision.
func withApprovalsFor(revision string, strategy clusterv1alpha1.RolloutStrategy) clusterv1alpha1.RolloutStrategy {
	if approval := strategy.Approval; approval != nil && approval.Revision != "" && approval.Revision != revision {
		strategy.Approval = &clusterv1alpha1.RolloutApproval{Required: approval.Required}
	}
	return strategy
}

func (s *placementState) read(placements map[string]Placement) {
	found, exists := placements[s.name]
	if !exists || !found.Object.DeletionTimestamp.IsZero() {
		s.reading = missing
		return
	}
	s.placement, s.decisions = found.Object, found.Decisions
	disagreements := found.Decisions.Disagreements(found.Object)
	switch {
	case len(found.Decisions.Groups()) == 0:
		s.reading = undecided
	case found.Decisions.Inconsistent():
		s.reading, s.cause = torn, "The decision is being changed: "+found.Decisions.Inconsistencies()[0].String()
	case len(disagreements) > 0 && found.Object.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true":
		s.reading, s.cause = partial, disagreements[0]
	default:
		s.reading = decided
	}
}

func (s *placementState) clusters() []string {
	var out []string
	for name := range s.decisions.ClusterNames() {
		out = append(out, name)
	}
	return out
}

// groupsOf returns the groups of the decision without the clusters that an earlier placement rules.
func (s *placementState) groupsOf(clusters map[string]*cluster, position int) rollout.Groups {
	if s.reading == missing {
		return rollout.Groups{}
	}
	s.groups = rollout.GroupsOf(s.decisions, s.placement)
	for i := range s.groups.Groups {
		group := &s.groups.Groups[i]
		var ruled []string
		for _, name := range group.Clusters {
			if clusters[name].ruling() == position {
				ruled = append(ruled, name)
			}
		}
		group.Clusters = ruled
	}
	return s.groups
}

// freeze lets no cluster start or leave. Those that would have the code.
func (s *placementState) freeze(phase rollout.Phase, code rollout.Code) {
	s.frozen = true
	s.step.Wait = append(s.step.Wait, s.step.Apply...)
	s.step.InFlight -= len(s.step.Apply)
	s.step.Apply, s.step.Phase = nil, phase
	for i := range s.step.Verdicts {
		if s.step.Verdicts[i].Code == rollout.Starting {
			s.step.Verdicts[i].Code = code
		}
	}
}

// message returns the state of the rollout in one sentence.
func (s *placementState) message() string {
	var text string
	switch {
	case s.reading == missing:
		return fmt.Sprintf("Placement %s does not exist, and the works of its clusters stay", s.name)
	case s.frozen:
		text = s.cause
	default:
		text = s.step.Message()
	}
	text += s.note
	if s.reading == partial && len(s.step.Removed) > 0 {
		text += "; no work is removed before the decision is complete: " + s.cause
	}
	if len(s.step.Unmatched) == 0 {
		return text
	}
	var names []string
	for _, to := range s.step.Unmatched {
		names = append(names, rollout.Reference(to))
	}
	return text + "; no such group: " + strings.Join(names[:min(len(names), maxNamed)], ", ")
}

// doneGroups counts the groups whose clusters all have the change.
func (s *placementState) doneGroups(clusters map[string]*cluster) int {
	out := 0
	for _, group := range s.groups.Groups {
		done := len(group.Clusters) > 0
		for _, name := range group.Clusters {
			state := clusters[name].state
			done = done && (state == rollout.StateSucceeded || state == rollout.StateSkip)
		}
		if done {
			out++
		}
	}
	return out
}

// phaseOrder orders phases, the most urgent for a user first.
func phaseOrder(a, b rollout.Phase) int {
	rank := map[rollout.Phase]int{
		rollout.PhaseMisconfigured: 0, rollout.PhaseBreached: 1, rollout.PhaseUndecided: 2, rollout.PhasePaused: 3, rollout.PhaseUnapproved: 4,
		rollout.PhaseAdvancing: 5, rollout.PhaseWaiting: 6, rollout.PhaseSoaking: 7, rollout.PhaseFinished: 8, rollout.PhaseEmpty: 9,
	}
	return cmp.Compare(rank[a], rank[b])
}
