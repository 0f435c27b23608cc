package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// placementState is a placement of the strategy.
type placementState struct {
	reading.Placement

	reference addonv1alpha1.PlacementRef
	// key names the placement, as "<namespace>/<name>".
	key      string
	configs  []addonv1alpha1.AddOnConfig
	strategy clusterv1alpha1.RolloutStrategy
	// reading is what may be done by the decision. slices is what its slices alone allow: less may be done on a misconfigured placement.
	reading, slices reading.Reading
	step            rollout.Step
	// frozen means that no cluster starts, whatever the strategy is.
	frozen bool
	// cause is the sign of a torn or partial decision.
	cause string
	// wants are the configurations of a cluster without its own. fault is why they are not known; empty where they are.
	wants []want
	fault string
	// former is what new clusters have to reach while they wait for their turn; nil for nothing.
	former []want
	// revision identifies the rollout. record is what it has shown: as stored at first, then as it has to be stored; nil without a rollout.
	revision string
	record   *clusterv1alpha1.RolloutRecord
	// note is added to the message.
	note string
}

// complete reports whether a cluster that is not in the decision is not selected.
func (s *placementState) complete() bool { return s.reading == reading.Decided }

// readPlacements reads the decisions of the placements and finds the clusters that they select. The last placement rules a cluster.
func (p *planner) readPlacements() {
	if !p.byPlacements() {
		return
	}
	seen := map[types.NamespacedName]bool{}
	for _, each := range p.in.AddOn.Spec.InstallStrategy.Placements {
		name := types.NamespacedName{Namespace: each.Namespace, Name: each.Name}
		if seen[name] {
			continue
		}
		seen[name] = true
		s := placementState{reference: each.PlacementRef, key: name.String(), configs: each.Configs, strategy: each.RolloutStrategy}
		s.read(p.in.Placements[name])
		if s.reading != reading.Missing {
			for cluster := range s.Decisions.ClusterNames() {
				p.cluster(cluster).placement = len(p.placements)
			}
		}
		p.readConfigs(&s)
		s.dropApprovals()
		p.placements = append(p.placements, s)
	}
}

// readConfigs reads the configurations of a placement, and the record of their rollout.
func (p *planner) readConfigs(s *placementState) {
	s.wants, s.fault = p.choose(s.configs)
	if s.fault == "" && p.areUnread(s.wants) {
		s.fault = "a configuration was not read"
	}
	s.revision, s.former = hashOf(s.wants), p.formerWants(s)
	if before := p.progressionOf(s.key); before != nil {
		s.record = before.Rollout
	}
}

// read reads the decision. An add-on goes with its data, so the decision must be on the present spec, and the spec without a mistake.
func (s *placementState) read(placement reading.Placement) {
	if s.reading, s.cause = reading.Read(placement); s.reading != reading.Missing {
		s.Placement = placement
	}
	s.slices = s.reading
	if s.reading != reading.Decided {
		return
	}
	if obstacles := placement.Decisions.Obstacles(placement.Object); len(obstacles) > 0 {
		s.reading, s.cause = reading.Partial, obstacles[0]
	} else if meta.IsStatusConditionTrue(placement.Object.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured) {
		s.reading, s.cause = reading.Partial, "the placement is misconfigured"
	}
}

// dropApprovals drops the approvals of a strategy that are for another content than that of the placement's configurations.
func (s *placementState) dropApprovals() {
	approval := s.strategy.Approval
	if approval == nil || approval.Revision == "" {
		return
	}
	for _, w := range s.wants {
		if w.SpecHash == approval.Revision {
			return
		}
	}
	s.strategy.Approval = &clusterv1alpha1.RolloutApproval{Required: approval.Required}
}

// message returns the state of the rollout in one sentence.
func (s *placementState) message() string {
	var text string
	switch {
	case s.reading == reading.Missing:
		return fmt.Sprintf("Placement %s does not exist or is being deleted, and its clusters keep the add-on: create it, or take it out of "+
			"installStrategy.placements", s.key)
	case s.frozen:
		text = s.cause
	default:
		text = s.step.Message()
	}
	if s.step.Phase == rollout.PhaseUnproven {
		text += "; to pass the group, take it out of mandatoryDecisionGroups"
	}
	text += s.note
	if s.reading == reading.Partial && !s.frozen {
		text += "; no add-on is removed before the decision is complete: " + s.cause
	}
	return text + evidence.Unmatched(s.step)
}
