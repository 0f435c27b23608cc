package plan

import (
	"fmt"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// placementState is a placement of the spec.
type placementState struct {
	reading.Placement

	name     string
	reading  reading.Reading
	strategy clusterv1alpha1.RolloutStrategy
	// groups are the groups that the placement rules.
	groups rollout.Groups
	step   rollout.Step
	// frozen means that no cluster starts, whatever the strategy is.
	frozen bool
	// cause is the sign of a torn or partial decision, or why the placement is frozen.
	cause string
	// failureStrategy is what happens when the rollout is breached. aborted means that it was, returning that clusters return.
	failureStrategy    workv1alpha1.FailureStrategy
	aborted, returning bool
	// note is added to the message.
	note string
}

// complete reports whether a cluster that is not in the decision is not selected.
func (s *placementState) complete() bool { return s.reading == reading.Decided }

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
		}
		s.read(p.in.Placements)
		s.strategy = p.controlled(&s, withApprovalsFor(p.in.Hash, reference.RolloutStrategy.RolloutStrategy))
		if s.reading != reading.Missing {
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
	if s.reading, s.cause = reading.Read(placements[s.name]); s.reading != reading.Missing {
		s.Placement = placements[s.name]
	}
}

func (s *placementState) clusters() []string {
	var out []string
	for name := range s.Decisions.ClusterNames() {
		out = append(out, name)
	}
	return out
}

// groupsOf returns the groups of the decision without the clusters that an earlier placement rules.
func (s *placementState) groupsOf(clusters map[string]*cluster, position int) rollout.Groups {
	if s.reading == reading.Missing {
		return rollout.Groups{}
	}
	s.groups = reading.GroupsOf(s.Placement, func(cluster string) bool { return clusters[cluster].ruling() == position })
	return s.groups
}

// freeze lets no cluster start or leave. The clusters that would start get the code.
func (s *placementState) freeze(phase rollout.Phase, code rollout.Code) {
	s.frozen = true
	evidence.Freeze(&s.step, phase, code)
}

// message returns the state of the rollout in one sentence.
func (s *placementState) message() string {
	var text string
	switch {
	case s.reading == reading.Missing:
		return fmt.Sprintf("Placement %s does not exist, and the works of its clusters stay", s.name)
	case s.frozen:
		text = s.cause
	case s.step.Phase == rollout.PhaseEmpty && len(s.clusters()) > 0:
		text = "Placements before it rule all clusters that it selects"
	default:
		text = s.step.Message()
	}
	text += s.note
	if s.reading == reading.Partial && len(s.step.Removed) > 0 {
		text += "; no work is removed before the decision is complete: " + s.cause
	}
	return text + evidence.Unmatched(s.step)
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
