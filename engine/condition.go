package engine

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/program"
)

// The parts of a placement that a misconfiguration is blamed on, as the message of the condition begins.
const (
	pluginPredicate = "Predicate"
	pluginTaint     = "TaintToleration"
	pluginScore     = "Prioritizer"
	pluginGroup     = "DecisionGroup"
	pluginPlacement = "Placement"
)

// maxMessage is the longest message of a condition; the API allows 32768.
const maxMessage = 4096

// satisfied returns PlacementSatisfied: the first of the tests, in this order, that holds. Refused is how many clusters
// match a predicate and fell to a taint.
func satisfied(p *program.Program, s scope, refused, selected int) Condition {
	short := p.Wanted - selected
	switch {
	case len(s.valid) == 0:
		return unsatisfied(clusterv1beta1.ReasonNoManagedClusterSetBindings,
			"No valid ManagedClusterSetBindings found in placement namespace")
	case len(s.eligible) == 0:
		return unsatisfied(clusterv1beta1.ReasonNoIntersection,
			fmt.Sprintf("None of ManagedClusterSets [%s] is bound to placement namespace", strings.Join(s.asked, ",")))
	case s.candidates.None() && len(s.broken) == 0:
		return unsatisfied(clusterv1beta1.ReasonAllManagedClusterSetsEmpty,
			fmt.Sprintf("All ManagedClusterSets [%s] have no member ManagedCluster", strings.Join(s.eligible, ",")))
	case p.Limited && short == 0 || !p.Limited && selected > 0:
		return Condition{
			Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue,
			Reason: clusterv1beta1.ReasonAllDecisionsScheduled, Message: "All cluster decisions scheduled",
		}
	case selected == 0 && refused > 0:
		return unsatisfied(clusterv1beta1.ReasonNoManagedClusterMatched,
			fmt.Sprintf("Each of the %d ManagedClusters that match the cluster predicates has a taint that is not tolerated", refused))
	case selected == 0:
		return unsatisfied(clusterv1beta1.ReasonNoManagedClusterMatched,
			"No ManagedCluster matches any of the cluster predicate")
	default:
		return unsatisfied(clusterv1beta1.ReasonNotAllDecisionsScheduled,
			fmt.Sprintf("%d cluster decisions unscheduled", short))
	}
}

func unsatisfied(reason, message string) Condition {
	return Condition{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionFalse,
		Reason: reason, Message: bounded(message),
	}
}

// undecided is PlacementSatisfied for a placement that never was decided.
func undecided() Condition {
	return unsatisfied(clusterv1beta1.ReasonNotAllDecisionsScheduled, "Nothing is decided while the placement is misconfigured")
}

// misconfigured returns PlacementMisconfigured: true where there is a problem.
func misconfigured(problem string) Condition {
	out := Condition{Type: clusterv1beta1.PlacementConditionMisconfigured}
	if problem == "" {
		out.Status, out.Reason = metav1.ConditionFalse, clusterv1beta1.ReasonSucceedConfigured
		out.Message = "Placement configurations check pass"
		return out
	}
	out.Status, out.Reason = metav1.ConditionTrue, clusterv1beta1.ReasonMisconfigured
	out.Message = bounded(problem)
	return out
}

// describe renders the faults of a spec, each after the part that it is blamed on.
func describe(faults field.ErrorList) string {
	out := make([]string, 0, len(faults))
	for _, fault := range faults {
		out = append(out, blame(fault.Field)+":"+fault.Error())
	}
	return strings.Join(out, "; ")
}

func blame(path string) string {
	for prefix, plugin := range map[string]string{
		"spec.predicates": pluginPredicate, "spec.tolerations": pluginTaint,
		"spec.prioritizerPolicy": pluginScore, "spec.decisionStrategy": pluginGroup,
	} {
		if strings.HasPrefix(path, prefix) {
			return plugin
		}
	}
	return pluginPlacement
}

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	const more = "..."
	return strings.ToValidUTF8(message[:maxMessage-len(more)], "") + more
}
