package reading

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// Placement is a placement and what it decided.
type Placement struct {
	Object    *clusterv1beta1.Placement
	Decisions decision.Decisions
	// Going has the clusters that the placement has by a right that is being withdrawn, each with that right in words. Until its grace is
	// over they start nothing: what is on its way out gets nothing new.
	Going map[string]string
}

// WithdrawalRetry is how often a placement with clusters that do not start for that reason is looked at again. The grace takes seconds.
const WithdrawalRetry = time.Second

// Withhold takes the clusters whose right is going out of those that a step starts. Note is what to add to the message of the rollout;
// empty if the step starts none of them.
func (p *Placement) Withhold(step *rollout.Step) (note string) {
	var names []string
	step.Apply = slices.DeleteFunc(step.Apply, func(name string) bool {
		if p.Going[name] == "" {
			return false
		}
		names = append(names, name)
		return true
	})
	if len(names) == 0 {
		return ""
	}
	step.Wait, step.InFlight = append(step.Wait, names...), step.InFlight-len(names)
	for i := range step.Verdicts {
		if verdict := &step.Verdicts[i]; verdict.Code == rollout.Starting && p.Going[verdict.Cluster] != "" {
			verdict.Code = rollout.WaitsForDecision
		}
	}
	return fmt.Sprintf("; not before it is certain whether they stay selected: %s (%s)", phrase.Join(names, phrase.MaxNames),
		p.Going[names[0]])
}

// Reading is what the decision of a placement is worth.
type Reading int

const (
	// Decided placements have a complete decision.
	Decided Reading = iota
	// Missing placements do not exist or are being deleted.
	Missing
	// Undecided placements have no slice.
	Undecided
	// Torn decisions are being changed, so the groups of clusters are not known.
	Torn
	// Partial decisions differ from the status of the placement, so slices may be missing. Clusters start, and what runs stays.
	Partial
)

// Read returns what the decision of a placement is worth, and the sign of a torn or partial one. The zero Placement is missing.
func Read(placement Placement) (reading Reading, cause string) {
	if placement.Object == nil || !placement.Object.DeletionTimestamp.IsZero() {
		return Missing, ""
	}
	disagreements := placement.Decisions.Disagreements(placement.Object)
	switch {
	case len(placement.Decisions.Groups()) == 0:
		return Undecided, ""
	case placement.Decisions.Inconsistent():
		return Torn, "The decision is being changed: " + placement.Decisions.Inconsistencies()[0].String()
	case len(disagreements) > 0 && placement.Object.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true":
		return Partial, disagreements[0]
	default:
		return Decided, ""
	}
}

// GroupsOf returns the groups of a placement's decision with the clusters for which rules returns true.
func GroupsOf(placement Placement, rules func(cluster string) bool) rollout.Groups {
	out := rollout.GroupsOf(placement.Decisions, placement.Object)
	for i := range out.Groups {
		group := &out.Groups[i]
		var ruled []string
		for _, name := range group.Clusters {
			if rules(name) {
				ruled = append(ruled, name)
			}
		}
		group.Clusters = ruled
	}
	return out
}

// LacksGroups reports whether the clusters that a step starts may have to wait for a group in a slice that is missing: a partial decision
// lacks a group that the strategy names, or one with a lower index. The missing group may come first. The reading is that of Read.
func LacksGroups(reading Reading, placement Placement, step rollout.Step) bool {
	if reading != Partial || len(step.Apply) == 0 {
		return false
	}
	next := 0
	for _, group := range placement.Decisions.Groups() {
		if group.Index > next {
			return true
		}
		next = group.Index + 1
	}
	return len(step.Unmatched) > 0
}

// DecidedGeneration returns the generation that the decision of a placement is of.
func DecidedGeneration(placement *clusterv1beta1.Placement) int64 {
	condition := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if condition == nil || condition.ObservedGeneration == 0 {
		return placement.Generation
	}
	return condition.ObservedGeneration
}
