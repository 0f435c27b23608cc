package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The reasons and actions of the events on a Placement, or on a PlacementDecision whose placement is gone.
const (
	reasonDecisionCreate = "DecisionCreate"
	reasonDecisionUpdate = "DecisionUpdate"
	reasonMisconfigured  = "PlacementMisconfigured"
	reasonRevoked        = "ClustersRevoked"
	reasonOrphaned       = "DecisionOrphaned"

	actionDecisionCreated = "DecisionCreated"
	actionDecisionUpdated = "DecisionUpdated"
	actionDecisionKept    = "DecisionKept"
	actionRevoked         = "DecisionRevoked"
)

// maxNames bounds the clusters in each list of an event.
const maxNames = 10

// decisionEvent returns the event of a stored plan. Ok is false if the plan changed nothing of interest to a user.
func decisionEvent(before *clusterv1beta1.Placement, result *engine.Result, p plan.Plan) (event telemetry.Event, ok bool) {
	old := meta.FindStatusCondition(before.Status.Conditions, result.Misconfigured.Type)
	kept := result.Misconfigured.Status == metav1.ConditionTrue && result.Misconfigured.Reason != clusterv1beta1.ReasonUnknownReference
	if kept && (old == nil || old.Message != result.Misconfigured.Message) {
		return telemetry.NewEvent(corev1.EventTypeWarning, reasonMisconfigured, actionDecisionKept, "The last decisions are kept: %s",
			result.Misconfigured.Message), true
	}
	if len(p.Added)+len(p.Removed)+len(p.Regrouped) == 0 {
		return telemetry.Event{}, false
	}
	reason, action, verb := reasonDecisionUpdate, actionDecisionUpdated, "updated"
	if before.Status.NumberOfSelectedClusters == 0 {
		reason, action, verb = reasonDecisionCreate, actionDecisionCreated, "created"
	}
	return telemetry.NewEvent(corev1.EventTypeNormal, reason, action,
		"Decisions of placement %s in namespace %s are %s: %d selected%s%s%s%s%s",
		before.Name, before.Namespace, verb, result.Selected, heldText(result), nameList(", added", p.Newcomers(), ""),
		nameList(", restored", p.Restored, ": another client removed them"),
		nameList(", removed", p.Removed, reasonCounts(result.Trace, p.Removed)), nameList(", regrouped", p.Regrouped, ": "+p.RegroupReason)), true
}

// heldText returns the count of held clusters in parentheses; empty without held clusters.
func heldText(result *engine.Result) string {
	if len(result.Ledger.Held) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d held)", len(result.Ledger.Held))
}

// nameList returns the count of the clusters and the first names, followed by a text.
func nameList(what string, clusters []string, after string) string {
	if len(clusters) == 0 {
		return ""
	}
	named := clusters[:min(maxNames, len(clusters))]
	out := fmt.Sprintf("%s %d (%s", what, len(clusters), strings.Join(named, ", "))
	if more := len(clusters) - len(named); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out + after + ")"
}

// maxReasons bounds the reasons of an event for removed clusters.
const maxReasons = 3

// reasonCounts returns why clusters were removed, with counts, the most frequent reasons first.
func reasonCounts(trace *engine.Trace, clusters []string) string {
	if trace == nil || len(clusters) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, name := range clusters {
		counts[rejectionReason(trace, name)]++
	}
	ordered := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, text := range ordered[:min(maxReasons, len(ordered))] {
		out = append(out, fmt.Sprintf("%s %d", text, counts[text]))
	}
	if len(ordered) > maxReasons {
		out = append(out, "...")
	}
	return ": " + strings.Join(out, ", ")
}

// rejectionReason returns the taint that rejects a cluster, or the name of its verdict.
func rejectionReason(trace *engine.Trace, cluster string) string {
	id, ok := trace.Snapshot.ID(cluster)
	if !ok || trace.Snapshot.Cluster(id) == nil {
		return explain.Gone
	}
	found := trace.VerdictWithoutRank(id)
	if taint, ok := found.Argument.(verdict.Taint); ok && found.Code == verdict.Tainted {
		return "taint " + explain.TaintText(taint.Key, taint.Value, taint.Effect)
	}
	return found.Code.String()
}

// revokedEvent returns the event of a plan that revokes clusters of a placement that Berth does not decide. The placement is nil if it
// is gone. Ok is false if no cluster was removed.
func revokedEvent(key fleet.Key, placement *clusterv1beta1.Placement, p plan.Plan) (event telemetry.Event, ok bool) {
	if len(p.Removed) == 0 {
		return telemetry.Event{}, false
	}
	state := "is gone"
	switch {
	case placement != nil && !placement.DeletionTimestamp.IsZero():
		state = "is being deleted"
	case placement != nil:
		state = "is disabled"
	}
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonRevoked, actionRevoked,
		"Placement %s in namespace %s %s. Berth removed clusters from its decisions that the namespace may no longer reach%s",
		key.Name, key.Namespace, state, nameList(":", p.Removed, "")), true
}

// orphanedEvent returns the event of orphaned slices: their placement is gone, and the garbage collector does not delete them.
func orphanedEvent(key fleet.Key, orphaned []*clusterv1beta1.PlacementDecision) telemetry.Event {
	clusters := 0
	for _, slice := range orphaned {
		clusters += len(slice.Status.Decisions)
	}
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonOrphaned, actionDecisionKept,
		"Placement %s in namespace %s is gone, but %d of its PlacementDecisions with %d clusters remain. Consumers still use them. "+
			"Delete them, or create the placement again: it takes them over", key.Name, key.Namespace, len(orphaned), clusters)
}
