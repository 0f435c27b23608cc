package enginetest

import (
	"fmt"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
)

// membership has the predefined groups that each chosen cluster matches.
type membership struct {
	*evaluator

	strategy clusterv1beta1.GroupStrategy
	// answers has the results of each group.
	answers []map[string]celenv.Answer
}

// membership evaluates every group on every chosen cluster, with the rest of the cost limit.
func (v *view) membership(chosen map[string]bool) *membership {
	out := &membership{
		evaluator: &evaluator{run: v.run, spent: v.spent, expired: clustersByResource{}},
		strategy:  v.spec.DecisionStrategy.GroupStrategy,
	}
	for i, group := range out.strategy.DecisionGroups {
		ballot := out.evaluateSelector(asSelector(group.ClusterSelector), chosen)
		out.answers = append(out.answers, ballot.answers)
		out.recordFailure(fmt.Sprintf("DecisionGroup:decisionGroups[%d]", i), ballot)
	}
	return out
}

// asSelector returns the selector of a group as one without names.
func asSelector(of clusterv1beta1.GroupClusterSelector) clusterv1beta1.ClusterSelector {
	return clusterv1beta1.ClusterSelector{LabelSelector: of.LabelSelector, ClaimSelector: of.ClaimSelector, CelSelector: of.CelSelector}
}

// belongs reports whether a cluster may stay in a group of this name. An expression that is too costly moves no cluster.
func (m *membership) belongs(name, group string) bool {
	claimed := false
	for i, predefined := range m.strategy.DecisionGroups {
		answer := m.answers[i][name]
		if predefined.GroupName == group && (answer == celenv.Yes || answer == celenv.TooCostly) {
			return true
		}
		claimed = claimed || answer == celenv.Yes
	}
	return group == "" && !claimed
}

// claim returns the first predefined group that matches, or one past the last.
func (m *membership) claim(name string) int {
	for i := range m.strategy.DecisionGroups {
		if m.answers[i][name] == celenv.Yes {
			return i
		}
	}
	return len(m.strategy.DecisionGroups)
}
