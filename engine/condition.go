package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bits-and-blooms/bitset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
	"github.com/berth-project/berth/engine/internal/score"
)

// The parts of a placement to blame for a misconfiguration. The condition's message begins with one.
const (
	pluginPredicate  = "Predicate"
	pluginTier       = "Tiers"
	pluginTaint      = "TaintToleration"
	pluginScore      = "Prioritizer"
	pluginSpread     = "Spread"
	pluginFailback   = "Failback"
	pluginDisruption = "Disruption"
	pluginGroup      = "DecisionGroup"
	pluginPlacement  = "Placement"
)

// maxMessage is the longest message of a condition; the API allows 32768.
const maxMessage = 4096

// satisfied returns PlacementSatisfied: the first case that applies.
func (t *Trace) satisfied() Condition {
	s, p, selected := t.scope, t.Program, len(t.Ranking.Chosen)
	switch {
	case len(s.valid) == 0:
		return unsatisfied(clusterv1beta1.ReasonNoManagedClusterSetBindings,
			"No valid ManagedClusterSetBindings found in placement namespace")
	case len(s.eligible) == 0:
		return unsatisfied(clusterv1beta1.ReasonNoIntersection,
			fmt.Sprintf("None of ManagedClusterSets [%s] is bound to placement namespace", strings.Join(s.requested, ",")))
	case s.candidates.None() && len(s.unreadable) == 0:
		return unsatisfied(clusterv1beta1.ReasonAllManagedClusterSetsEmpty,
			fmt.Sprintf("All ManagedClusterSets [%s] have no member ManagedCluster", strings.Join(s.eligible, ",")))
	case p.Limited && selected == p.Wanted || !p.Limited && selected > 0:
		return Condition{
			Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue,
			Reason: clusterv1beta1.ReasonAllDecisionsScheduled, Message: "All cluster decisions scheduled",
		}
	case selected == 0:
		return unsatisfied(clusterv1beta1.ReasonNoManagedClusterMatched, t.unmatchedMessage())
	default:
		return unsatisfied(clusterv1beta1.ReasonNotAllDecisionsScheduled,
			fmt.Sprintf("%d cluster decisions unscheduled", p.Wanted-selected)+t.blockedMessage())
	}
}

// unmatchedMessage returns why no cluster is selected: the last stage that rejected one.
func (t *Trace) unmatchedMessage() string {
	if blocked := t.blockedMessage(); blocked != "" {
		return "No ManagedCluster can be selected" + blocked
	}
	if refused := t.rejectedByTaints(); refused > 0 {
		return fmt.Sprintf("Each of the %d ManagedClusters that match the cluster predicates has a taint that is not tolerated", refused)
	}
	if t.tiered.Rejected.Any() || t.tiered.RetainedOnly.Any() {
		return "No ManagedCluster that matches the cluster predicates is in any of the tiers"
	}
	return "No ManagedCluster matches any of the cluster predicate"
}

// blockedMessage returns how many candidates anti-affinity and the hard spread constraints block; empty if none.
func (t *Trace) blockedMessage() string {
	var out strings.Builder
	for _, block := range t.Ranking.BlockingTerms() {
		fmt.Fprintf(&out, "; %s keeps out %d ManagedClusters", block.Term, block.Clusters)
	}
	return out.String()
}

// rejectedByTaints counts the clusters that only a taint rejects. Clusters that match only as incumbents do not count, because
// the next run has no such incumbents.
func (t *Trace) rejectedByTaints() int {
	count := 0
	note := func(id fleet.ID) {
		if _, held := t.matched.Held[id]; !held && !t.scope.held.Test(id) && !t.tiered.RetainedOnly.Test(id) {
			count++
		}
	}
	for id := range t.tolerated.Rejected.EachSet() {
		note(id)
	}
	for id := range t.tolerated.RetainedOnly.EachSet() {
		if !t.Ranking.Has(id) {
			note(id)
		}
	}
	return count
}

// maxHeldNames is how many held clusters the condition names.
const maxHeldNames = 10

// budgetConsequence and brakeConsequence are the ends of the messages about held clusters.
const (
	budgetConsequence = "They stay selected until its budget is free again or they qualify again"
	brakeConsequence  = "They stay selected until the brake is released or its cause goes: kubectl berth holds -A"
)

// Held returns PlacementHeld for a reader who may see some of the clusters; the zero Condition without a disruption policy and without a
// brake.
func (t *Trace) Held(visible func(cluster string) bool) Condition {
	out := Condition{
		Type: clusterv1beta1.PlacementConditionHeld, Status: metav1.ConditionFalse,
		Reason: clusterv1beta1.ReasonNothingHeld, Message: "No selected ManagedCluster is held by spec.disruptionPolicy",
	}
	var messages []string
	if ids := t.Ranking.HeldClusters(); len(ids) > 0 {
		out.Reason = clusterv1beta1.ReasonBudgetSpent
		messages = append(messages, fmt.Sprintf("%d selected ManagedClusters would be dropped and are held by spec.disruptionPolicy: %s. %s",
			len(ids), t.heldNames(ids, visible), budgetConsequence))
	}
	if ids := t.Ranking.BrakedClusters(); len(ids) > 0 {
		out.Reason = clusterv1beta1.ReasonBraked
		messages = append(messages, fmt.Sprintf("%d selected ManagedClusters are kept by a brake, since too many would leave at once: %s. %s",
			len(ids), t.heldNames(ids, visible), brakeConsequence))
	}
	switch {
	case len(messages) > 0:
		out.Status, out.Message = metav1.ConditionTrue, truncated(strings.Join(messages, ". "))
	case t.Program.Budget == nil:
		return Condition{}
	}
	return out
}

// heldNames returns the first of some clusters, as far as a reader may see them.
func (t *Trace) heldNames(ids []fleet.ID, visible func(cluster string) bool) string {
	var names []string
	for _, id := range ids {
		if name := t.Snapshot.Name(id); len(names) < maxHeldNames && visible(name) {
			names = append(names, name)
		}
	}
	if len(ids) > len(names) {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// maxExpiredNames is how many clusters the condition names for each prioritizer or resource.
const maxExpiredNames = 3

// ScoresExpired returns PlacementScoresExpired for a reader who may see some of the clusters: the expired scores that
// prioritizers rank by and that expressions read.
func (t *Trace) ScoresExpired(visible func(cluster string) bool) Condition {
	var expired []string
	for _, column := range t.Ranking.Columns {
		if on := t.expiredIn(column); len(on) > 0 {
			expired = append(expired, fmt.Sprintf("%s: %d scores are out of date%s and count as 0 until AddOnPlacementScore %s is updated in the "+
				"namespaces of their clusters",
				column.Prioritizer.Name(), len(on), firstNames(on, visible), column.Prioritizer.Resource))
		}
	}
	for _, column := range t.Ranking.Columns {
		if kept, until := t.lastValuesIn(column); len(kept) > 0 {
			expired = append(expired, fmt.Sprintf("%s: the last scores of %d selected ManagedClusters%s count, the first until %s",
				column.Prioritizer.Name(), len(kept), firstNames(kept, visible), until.UTC().Format(time.RFC3339)))
		}
	}
	read := t.expiredInExpressions()
	for _, resource := range slices.Sorted(maps.Keys(read)) {
		var on []string
		for id := range read[resource].EachSet() {
			on = append(on, t.Snapshot.Name(id))
		}
		expired = append(expired, fmt.Sprintf("scores(%q): %d are out of date%s and left out until AddOnPlacementScore %s is updated in the "+
			"namespaces of their clusters",
			resource, len(on), firstNames(on, visible), resource))
	}
	if len(expired) == 0 {
		return Condition{
			Type: clusterv1beta1.PlacementConditionScoresExpired, Status: metav1.ConditionFalse,
			Reason: clusterv1beta1.ReasonScoresFresh, Message: "All scores that the placement ranks by are in date",
		}
	}
	return Condition{
		Type: clusterv1beta1.PlacementConditionScoresExpired, Status: metav1.ConditionTrue,
		Reason: clusterv1beta1.ReasonScoresExpired, Message: truncated(strings.Join(expired, "; ")),
	}
}

// firstNames returns the first clusters by name among the visible ones, and how many more there are, in parentheses. It
// is empty if no cluster is visible.
func firstNames(clusters []string, visible func(cluster string) bool) string {
	slices.Sort(clusters)
	var names []string
	for _, name := range clusters {
		if len(names) < maxExpiredNames && visible(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	out := " (" + strings.Join(names, ", ")
	if more := len(clusters) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out + ")"
}

// expiredInExpressions returns the clusters whose scores are out of date and were read by expressions, by resource. Tiers also read
// scores of clusters that passed the predicates only because they were selected. Once such a cluster is not selected, its
// scores are not read again, so they are left out.
func (t *Trace) expiredInExpressions() map[string]*bitset.BitSet {
	if !t.matched.ScoreReads.AnyExpired() && !t.tiered.ScoreReads.AnyExpired() && !t.grouped.AnyExpired() {
		return nil
	}
	gone := t.scope.held.Clone()
	for id := range t.matched.Held {
		gone.Set(id)
	}
	for _, id := range t.Ranking.Chosen {
		gone.Clear(id)
	}
	return filter.Expired(&t.matched.ScoreReads, t.tiered.ScoreReads.Without(gone), &t.grouped)
}

// expiredIn returns the candidates whose score of a column is out of date. It leaves out a retained cluster that is not
// selected. That cluster is no candidate in the next run, so a message that counted it would change without any other
// change.
func (t *Trace) expiredIn(column score.Column) []string {
	if column.Expired == 0 {
		return nil
	}
	retained := t.retainedOnly()
	var out []string
	for _, id := range t.Ranking.Candidates {
		found := t.Snapshot.Score(id, column.Prioritizer.Resource)
		if found == nil || !found.Expired(t.Snapshot.Now) || retained.Test(id) && !t.Ranking.Has(id) {
			continue
		}
		if _, given := found.Value(column.Prioritizer.Score); given {
			out = append(out, t.Snapshot.Name(id))
		}
	}
	return out
}

// lastValuesIn returns the selected clusters whose last score of a column counts though it is missing or out of date, and until when the
// first does.
func (t *Trace) lastValuesIn(column score.Column) (clusters []string, until time.Time) {
	if column.Lost == 0 {
		return nil, time.Time{}
	}
	for _, id := range t.Ranking.Chosen {
		value, end, kept := t.Snapshot.LastValue(id, column.Prioritizer.Resource, column.Prioritizer.Score)
		if !kept || int64(value)*column.Prioritizer.Weight <= 0 {
			continue
		}
		clusters = append(clusters, t.Snapshot.Name(id))
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return clusters, until
}

func unsatisfied(reason, message string) Condition {
	return Condition{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionFalse,
		Reason: reason, Message: truncated(message),
	}
}

// undecided is PlacementSatisfied of a placement without any decision.
func undecided() Condition {
	return unsatisfied(clusterv1beta1.ReasonNotAllDecisionsScheduled, "Nothing is decided while the placement is misconfigured")
}

// misconfigured returns PlacementMisconfigured, which is True if there is a problem.
func misconfigured(problem string) Condition {
	out := Condition{Type: clusterv1beta1.PlacementConditionMisconfigured}
	if problem == "" {
		out.Status, out.Reason = metav1.ConditionFalse, clusterv1beta1.ReasonSucceedConfigured
		out.Message = "Placement configurations check pass"
		return out
	}
	out.Status, out.Reason = metav1.ConditionTrue, clusterv1beta1.ReasonMisconfigured
	out.Message = truncated(problem)
	return out
}

// faultMessage returns the faults of a spec, each after the part to blame.
func faultMessage(faults field.ErrorList) string {
	out := make([]string, 0, len(faults))
	for _, fault := range faults {
		out = append(out, pluginOf(fault.Field)+":"+fault.Error())
	}
	return strings.Join(out, "; ")
}

func pluginOf(path string) string {
	for prefix, plugin := range map[string]string{
		"spec.predicates": pluginPredicate, "spec.tolerations": pluginTaint,
		"spec.prioritizerPolicy": pluginScore, "spec.decisionStrategy": pluginGroup,
		"spec.tiers": pluginTier, "spec.failbackPolicy": pluginFailback,
		"spec.disruptionPolicy": pluginDisruption, "spec.spreadPolicy": pluginSpread,
	} {
		if strings.HasPrefix(path, prefix) {
			return plugin
		}
	}
	return pluginPlacement
}

// truncated returns a message as it is stored: with escaped control characters, and not longer than maxMessage.
func truncated(message string) string {
	message = escape.Lines(message)
	if len(message) <= maxMessage {
		return message
	}
	const more = "..."
	return strings.ToValidUTF8(message[:maxMessage-len(more)], "") + more
}
