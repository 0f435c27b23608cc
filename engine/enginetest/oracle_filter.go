package enginetest

import (
	"fmt"
	"slices"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
)

// predicates admits the clusters that match a predicate, and the held clusters.
func (v *view) predicates() {
	costly, failing := map[string]bool{}, map[string]string{}
	for i, predicate := range v.spec.Predicates {
		ballot := v.evaluateSelector(predicate.RequiredClusterSelector, minus(v.scope.candidates, v.scope.held))
		for name, answer := range ballot.answers {
			switch answer {
			case celenv.Yes:
				v.in[name] = true
			case celenv.TooCostly:
				costly[name] = true
			case celenv.No, celenv.Failed, celenv.Missing:
			}
		}
		v.noteMissing(ballot, failing)
		v.recordFailure(fmt.Sprintf("Predicate:predicates[%d]", i), ballot)
	}
	for name := range v.scope.candidates {
		switch {
		case v.in[name]:
		case v.scope.held[name]:
			v.in[name], v.retainedOnly[name] = true, true
		case len(v.spec.Predicates) == 0:
			v.in[name] = true
		case costly[name] && v.selected[name]:
			v.in[name], v.held[name], v.retainedOnly[name] = true, true, true
		case costly[name]:
			v.drop(name, "TooCostly")
		case failing[name] != "":
			v.failing[name] = failing[name]
			if v.leavesAt(name).After(v.w.Now) {
				v.in[name], v.held[name], v.retainedOnly[name] = true, true, true
			} else {
				v.drop(name, "Mismatch")
			}
		default:
			v.drop(name, "Mismatch")
		}
	}
}

// noteMissing records the selected clusters on which an expression fails because a claim or score is missing. A list of scores that is
// empty is missing too where the expression is false.
func (v *view) noteMissing(ballot selectorResult, failing map[string]string) {
	for name := range v.selected {
		if failing[name] == "" && ballot.missing[name] != "" {
			failing[name] = ballot.missing[name]
		}
	}
}

// leavesAt returns when a selected cluster on which an expression fails leaves.
func (r *run) leavesAt(name string) time.Time {
	from, known := r.w.Failing[r.key][name]
	switch {
	case r.w.ExpressionHold == 0:
		return r.w.Now
	case !known:
		from = ceil(r.w.Now)
	}
	return from.Add(r.w.ExpressionHold)
}

// selects reports whether name, labels and claims match.
func (r *run) selects(selector clusterv1beta1.ClusterSelector, name string) bool {
	return (len(selector.ClusterNames) == 0 || slices.Contains(selector.ClusterNames, name)) &&
		labelsMatch(selector.LabelSelector, r.w.Clusters[name]) && claimsMatch(selector.ClaimSelector, r.w.Clusters[name])
}

// taints rejects the clusters with a taint that is not tolerated.
func (v *view) taints() {
	for _, name := range names(v.in) {
		why, ends := v.taintVerdict(name)
		if why == "" {
			v.rechecks = append(v.rechecks, ends...)
			continue
		}
		v.drop(name, why)
		if !v.retainedOnly[name] {
			v.rejectedByTaints++
		}
	}
}

// taintVerdict returns the verdict for the first taint that is not tolerated, or when the tolerations end.
func (v *view) taintVerdict(name string) (verdict string, ends []time.Time) {
	for _, taint := range v.w.Clusters[name].Spec.Taints {
		if taint.Effect == "NoSelectIfNew" && v.selected[name] {
			continue
		}
		forever, until := v.tolerance(taint)
		switch {
		case forever, taint.Effect == "PreferNoSelect" && !v.w.Now.Before(until):
		case until.IsZero():
			return "Tainted", nil
		case !v.w.Now.Before(until):
			return "Expired", nil
		default:
			ends = append(ends, until)
		}
	}
	return "", ends
}

// penalized reports whether a cluster ranks after all others: it has a PreferNoSelect taint that is not tolerated, and is no
// incumbent of a placement with Steady.
func (v *view) penalized(name string) bool {
	return v.hasPenalty(name) && (!v.selected[name] || v.weight["Steady"] <= 0)
}

// hasPenalty reports whether a cluster has a PreferNoSelect taint that is not tolerated.
func (r *run) hasPenalty(name string) bool {
	for _, taint := range r.w.Clusters[name].Spec.Taints {
		forever, until := r.tolerance(taint)
		if taint.Effect == "PreferNoSelect" && !forever && !r.w.Now.Before(until) {
			return true
		}
	}
	return false
}

// tolerance returns until when a taint is tolerated: the latest end of the matching tolerations.
func (r *run) tolerance(taint clusterv1.Taint) (forever bool, until time.Time) {
	for _, toleration := range r.spec.Tolerations {
		if !covers(toleration, taint) {
			continue
		}
		switch seconds := toleration.TolerationSeconds; {
		case seconds == nil || *seconds > 100*365*24*3600:
			forever = true
		case *seconds <= 0:
		case taint.TimeAdded.IsZero():
			forever = true // read as added just now, whenever it is looked at
		default:
			end := taint.TimeAdded.Add(time.Duration(*seconds) * time.Second)
			if end.After(until) {
				until = end
			}
		}
	}
	return forever, until
}

func covers(toleration clusterv1beta1.Toleration, taint clusterv1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	return toleration.Operator == "Exists" || toleration.Value == taint.Value
}
