package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine"
)

// satisfied returns PlacementSatisfied, case by case.
func (r *run) satisfied(last *view, found verdicts, selected int) engine.Condition {
	wanted := -1
	if r.spec.NumberOfClusters != nil {
		wanted = int(*r.spec.NumberOfClusters)
	}
	scope, inTheWay := last.scope, r.blockedMessage(found)
	switch {
	case len(scope.valid) == 0:
		return satisfiedIs("False", "NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found in placement namespace")
	case len(scope.eligible) == 0:
		return satisfiedIs("False", "NoIntersection",
			"None of ManagedClusterSets ["+strings.Join(r.spec.ClusterSets, ",")+"] is bound to placement namespace")
	case len(scope.candidates) == 0 && len(scope.problems) == 0:
		return satisfiedIs("False", "AllManagedClusterSetsEmpty",
			"All ManagedClusterSets ["+strings.Join(scope.eligible, ",")+"] have no member ManagedCluster")
	case wanted == 0:
		return satisfiedIs("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
	case selected == 0 && inTheWay != "":
		return satisfiedIs("False", "NoManagedClusterMatched", "No ManagedCluster can be selected"+inTheWay)
	case selected == 0 && last.rejectedByTaints > 0:
		return satisfiedIs("False", "NoManagedClusterMatched", "Each of the "+
			count(last.rejectedByTaints, "ManagedClusters that match the cluster predicates has a taint that is not tolerated"))
	case selected == 0 && slices.Contains(slices.Collect(maps.Values(last.rejected)), "OutsideTiers"):
		return satisfiedIs("False", "NoManagedClusterMatched", "No ManagedCluster that matches the cluster predicates is in any of the tiers")
	case selected == 0:
		return satisfiedIs("False", "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate")
	case wanted < 0 || selected == wanted:
		return satisfiedIs("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
	default:
		return satisfiedIs("False", "NotAllDecisionsScheduled", count(wanted-selected, "cluster decisions unscheduled")+inTheWay)
	}
}

// blockedMessage lists the terms that block clusters, whatever their rank.
func (r *run) blockedMessage(found verdicts) string {
	out := &strings.Builder{}
	for _, term := range slices.Concat(r.antiAffinity, r.spread) {
		if n := found.blocked[term.text]; n > 0 {
			fmt.Fprintf(out, "; %s keeps out %d ManagedClusters", term.text, n)
		}
	}
	return out.String()
}

func satisfiedIs(status metav1.ConditionStatus, reason, message string) engine.Condition {
	return engine.Condition{Type: "PlacementSatisfied", Status: status, Reason: reason, Message: message}
}

func misconfiguredIs(problem string) engine.Condition {
	if problem == "" {
		return engine.Condition{
			Type: "PlacementMisconfigured", Status: "False", Reason: "Succeedconfigured", Message: "Placement configurations check pass",
		}
	}
	if len(problem) > 4096 {
		problem = strings.ToValidUTF8(problem[:4093], "") + "..."
	}
	return engine.Condition{Type: "PlacementMisconfigured", Status: "True", Reason: "Misconfigured", Message: problem}
}

// heldCondition returns PlacementHeld; it has no status without a budget and a brake.
func (r *run) heldCondition(next memory, chosen map[string]bool) engine.Condition {
	out, texts := engine.Condition{Type: "PlacementHeld"}, []string(nil)
	if r.spec.DisruptionPolicy != nil {
		out.Status, out.Reason = "False", "NothingHeld"
		out.Message = "No selected ManagedCluster is held by spec.disruptionPolicy"
	}
	note := func(reason string, clusters []string, why, end string) {
		if len(clusters) == 0 {
			return
		}
		number := len(clusters)
		if number > 10 {
			clusters = append(clusters[:10], "...")
		}
		texts = append(texts, count(number, "selected ManagedClusters "+why+": ")+strings.Join(clusters, ", ")+". They stay selected until "+end)
		out.Status, out.Reason, out.Message = "True", reason, strings.Join(texts, ". ")
	}
	note("DisruptionBudgetSpent", slices.Sorted(maps.Keys(next.held)), "would be dropped and are held by spec.disruptionPolicy",
		"its budget is free again or they qualify again")
	note("Braked", slices.DeleteFunc(r.braked(), func(name string) bool { return !chosen[name] }),
		"are kept by a brake, since too many would leave at once", "the brake is released or its cause goes: kubectl berth holds -A")
	return out
}

// expressionCondition returns ExpressionHeld; it has no status without a cluster that stays although an expression fails on it.
func (v *view) expressionCondition(chosen map[string]bool) engine.Condition {
	out := engine.Condition{Type: "ExpressionHeld"}
	ends, texts := v.leaving(chosen), []string(nil)
	if len(ends) == 0 {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(v.failing)) {
		if v.held[name] && chosen[name] && len(texts) < 10 {
			texts = append(texts, name+" ("+v.failing[name]+")")
		}
	}
	if more := len(ends) - len(texts); more > 0 {
		texts = append(texts, count(more, "more"))
	}
	out.Status, out.Reason = "True", "ValueMissing"
	out.Message = fmt.Sprintf("%d selected ManagedClusters stay although an expression fails on them: %s. The first leaves at %s, "+
		"unless its claim or score comes back. "+
		"To let them leave now: kubectl berth holds release placement/%s -n %s --hold Expression --reason WHY",
		len(ends), strings.Join(texts, ", "), earliest(ends).UTC().Format(time.RFC3339), v.key.Name, v.key.Namespace)
	return out
}

// failsEverywhere returns ExpressionHeld where an expression fails on every cluster; it has no status without a selected cluster that lacks
// a claim or score.
func (v *view) failsEverywhere(kept []Group) engine.Condition {
	stay := map[string]bool{}
	for _, group := range kept {
		for _, slice := range group.Slices {
			for _, name := range slice.Clusters {
				stay[name] = v.failing[name] != ""
			}
		}
	}
	maps.DeleteFunc(stay, func(_ string, fails bool) bool { return !fails })
	if len(stay) == 0 {
		return engine.Condition{}
	}
	var texts []string
	for n, name := range slices.Sorted(maps.Keys(stay)) {
		if n == 10 {
			texts = append(texts, count(len(stay)-n, "more"))
			break
		}
		texts = append(texts, name+" ("+v.failing[name]+")")
	}
	return engine.Condition{
		Type: "ExpressionHeld", Status: "True", Reason: "ValueMissing",
		Message: fmt.Sprintf("%d selected ManagedClusters stay since an expression fails on every one: %s. They stay until the claim or score "+
			"comes back, or the placement is edited. To let them leave now: kubectl berth holds release placement/%s -n %s --hold Expression "+
			"--reason WHY", len(stay), strings.Join(texts, ", "), v.key.Name, v.key.Namespace),
	}
}

// leaving returns when each chosen cluster on which an expression fails leaves, while it is held.
func (v *view) leaving(chosen map[string]bool) []time.Time {
	var out []time.Time
	for name := range v.failing {
		if v.held[name] && chosen[name] {
			out = append(out, v.leavesAt(name))
		}
	}
	return out
}

// expiredCondition counts the expired scores, by prioritizer and by the resources that expressions read.
func (r *run) expiredCondition(last *view, chosen map[string]bool, inExpressions clustersByResource) engine.Condition {
	var problems []string
	for _, prioritizer := range slices.SortedFunc(maps.Keys(r.weight), byResource) {
		resource, score, addOn := strings.Cut(prioritizer, "/")
		if on := last.outdated(resource, score); addOn && r.weight[prioritizer] != 0 && len(on) > 0 {
			problems = append(problems, fmt.Sprintf("AddOn/%s: %d scores are out of date (%s) and count as 0 until AddOnPlacementScore %s is "+
				"updated in the namespaces of their clusters",
				prioritizer, len(on), firstThree(on), resource))
		}
	}
	for _, prioritizer := range slices.SortedFunc(maps.Keys(r.weight), byResource) {
		resource, score, addOn := strings.Cut(prioritizer, "/")
		if on, until := last.lastValues(resource, score, chosen); addOn && r.weight[prioritizer] != 0 && len(on) > 0 {
			problems = append(problems, fmt.Sprintf("AddOn/%s: the last scores of %d selected ManagedClusters (%s) count, the first until %s",
				prioritizer, len(on), firstThree(on), until.UTC().Format(time.RFC3339)))
		}
	}
	all := clustersByResource{}
	for _, some := range []clustersByResource{last.expired, inExpressions} {
		for resource, clusters := range some {
			if all[resource] == nil {
				all[resource] = map[string]bool{}
			}
			maps.Copy(all[resource], clusters)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(all)) {
		problems = append(problems, fmt.Sprintf("scores(%q): %d are out of date (%s) and left out until AddOnPlacementScore %s is updated in "+
			"the namespaces of their clusters",
			resource, len(all[resource]), firstThree(slices.Collect(maps.Keys(all[resource]))), resource))
	}
	out := engine.Condition{Type: "PlacementScoresExpired"}
	switch {
	case len(problems) > 0:
		out.Status, out.Reason, out.Message = "True", "ScoresExpired", strings.Join(problems, "; ")
	case r.stores(out.Type):
		out.Status, out.Reason, out.Message = "False", "ScoresFresh", "All scores that the placement ranks by are in date"
	}
	return out
}

// byResource orders "resource/score".
func byResource(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

// firstThree names the first three clusters and counts the others.
func firstThree(clusters []string) string {
	slices.Sort(clusters)
	if len(clusters) <= 3 {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:3], ", "), len(clusters)-3)
}

// lastValues returns the chosen clusters whose score counts though it is out of date, and until when the first does.
func (v *view) lastValues(resource, score string, chosen map[string]bool) (on []string, until time.Time) {
	for _, name := range v.outdated(resource, score) {
		object := v.w.Scores[ScoreKey{name, resource}]
		end := object.Status.ValidUntil.Add(v.w.ExpressionHold)
		for _, item := range object.Status.Scores {
			if item.Name != score || !chosen[name] || int(item.Value)*v.weight[resource+"/"+score] <= 0 || !v.w.Now.Before(end) {
				continue
			}
			if on = append(on, name); until.IsZero() || end.Before(until) {
				until = end
			}
		}
	}
	return on, until
}

// outdated returns the candidates that have a score which is out of date.
func (v *view) outdated(resource, score string) []string {
	var out []string
	for name := range v.in {
		object := v.w.Scores[ScoreKey{name, resource}]
		if object == nil || object.Status.ValidUntil == nil || !object.Status.ValidUntil.Time.Before(v.w.Now) {
			continue
		}
		for _, item := range object.Status.Scores {
			if item.Name == score {
				out = append(out, name)
			}
		}
	}
	return out
}

// stores reports whether the placement has a condition.
func (r *run) stores(condition string) bool {
	return slices.ContainsFunc(r.w.Placements[r.key].Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition })
}

// storeConditions sets conditions in the status, and removes those without a status.
func (r *run) storeConditions(out *Outcome, conditions ...engine.Condition) {
	for _, condition := range conditions {
		switch {
		case !out.Decided && condition.Type == "PlacementSatisfied" && r.stores(condition.Type):
		case condition.Status != "":
			out.Status.Conditions = r.with(out.Status.Conditions, condition)
		default:
			out.Status.Conditions = slices.DeleteFunc(out.Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition.Type })
		}
	}
}

// with sets a condition; its time changes only with its status.
func (r *run) with(conditions []metav1.Condition, want engine.Condition) []metav1.Condition {
	set := metav1.Condition{
		Type: want.Type, Status: want.Status, Reason: want.Reason, Message: want.Message,
		ObservedGeneration: r.w.Placements[r.key].Generation,
		LastTransitionTime: metav1.NewTime(r.w.Now.Truncate(time.Second)),
	}
	if want.Message == "Nothing is decided while the placement is misconfigured" {
		set.ObservedGeneration = 0 // no spec was ever decided
	}
	for i, have := range conditions {
		if have.Type != want.Type {
			continue
		}
		if have.Status == want.Status {
			set.LastTransitionTime = have.LastTransitionTime
		}
		conditions[i] = set
		return conditions
	}
	return append(conditions, set)
}
