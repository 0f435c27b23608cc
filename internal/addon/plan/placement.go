package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/kube/pacing"
	"github.com/berth-project/berth/rollout"
)

// placementState is a placement of the strategy.
type placementState struct {
	pacing.Placement

	reference addonv1alpha1.PlacementRef
	// key names the placement, as "<namespace>/<name>".
	key      string
	configs  []addonv1alpha1.AddOnConfig
	strategy clusterv1alpha1.RolloutStrategy
	// reading is what may be done by the decision. slices is what its slices alone allow: less may be done on a misconfigured placement.
	reading, slices pacing.Reading
	step            rollout.Step
	// frozen means that no cluster starts, whatever the strategy is.
	frozen bool
	// cause is the sign of a torn or partial decision.
	cause string
	// former is what new clusters have to reach while the present configurations are held back; nil for nothing.
	former []want
}

// complete reports whether a cluster that is not in the decision is not selected.
func (s *placementState) complete() bool { return s.reading == pacing.Decided }

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
		if s.reading != pacing.Missing {
			for cluster := range s.Decisions.ClusterNames() {
				p.cluster(cluster).placement = len(p.placements)
			}
		}
		p.placements = append(p.placements, s)
		p.dropApprovals(len(p.placements) - 1)
	}
}

// read reads the decision. An add-on goes with its data, so the decision must be on the present spec, and the spec without a mistake.
func (s *placementState) read(placement pacing.Placement) {
	if s.reading, s.cause = pacing.Read(placement); s.reading != pacing.Missing {
		s.Placement = placement
	}
	s.slices = s.reading
	if s.reading != pacing.Decided {
		return
	}
	if obstacles := placement.Decisions.Obstacles(placement.Object); len(obstacles) > 0 {
		s.reading, s.cause = pacing.Partial, obstacles[0]
	} else if meta.IsStatusConditionTrue(placement.Object.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured) {
		s.reading, s.cause = pacing.Partial, "the placement is misconfigured"
	}
}

// dropApprovals drops the approvals of a strategy that are for another content than that of the placement's configurations.
func (p *planner) dropApprovals(placement int) {
	s := &p.placements[placement]
	approval := s.strategy.Approval
	if approval == nil || approval.Revision == "" {
		return
	}
	wants, _ := p.choose(s.configs)
	for _, w := range wants {
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
	case s.reading == pacing.Missing:
		return fmt.Sprintf("Placement %s does not exist or is being deleted, and its clusters keep the add-on: create it, or take it out of installStrategy.placements", s.key)
	case s.frozen:
		text = s.cause
	default:
		text = s.step.Message()
	}
	if s.reading == pacing.Partial && !s.frozen {
		text += "; no add-on is removed before the decision is complete: " + s.cause
	}
	return text + pacing.Unmatched(s.step)
}
