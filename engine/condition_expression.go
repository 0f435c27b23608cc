package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bits-and-blooms/bitset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
)

// failing returns the incumbents on which an expression fails because a claim or score is missing, each with the problem, whether they are
// held or not.
func (t *Trace) failing() map[fleet.ID]string {
	if len(t.matched.Failing) == 0 {
		return t.tiered.Failing
	}
	out := maps.Clone(t.matched.Failing)
	maps.Copy(out, t.tiered.Failing)
	return out
}

// failingNames returns the names of the incumbents on which an expression fails, sorted.
func (t *Trace) failingNames() []string {
	of := &bitset.BitSet{}
	for id := range t.failing() {
		of.Set(id)
	}
	return t.names(of)
}

// heldByExpression returns the selected clusters that stay because a claim or score is missing.
func (t *Trace) heldByExpression() []fleet.ID {
	var out []fleet.ID
	for id := range t.failing() {
		_, matched := t.matched.Held[id]
		_, tiered := t.tiered.Held[id]
		if (matched || tiered) && t.Ranking.Has(id) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b fleet.ID) int { return strings.Compare(t.Snapshot.Name(a), t.Snapshot.Name(b)) })
	return out
}

// expressionHeld returns ExpressionHeld: the selected clusters that stay although an expression fails on them; the zero Condition
// without any.
func (t *Trace) expressionHeld() Condition {
	held := t.heldByExpression()
	if len(held) == 0 {
		return Condition{}
	}
	return t.expressionCondition(held, "although an expression fails on them", fmt.Sprintf(
		"The first leaves at %s, unless its claim or score comes back", t.failingUntil(held).UTC().Format(time.RFC3339)))
}

// failsEverywhere returns ExpressionHeld where an expression fails on every cluster, so that nothing is decided: the clusters among those
// that stay on which it fails because a claim or score is missing; the zero Condition without any.
func (t *Trace) failsEverywhere(stay *bitset.BitSet) Condition {
	failing := t.failing()
	var held []fleet.ID
	for _, id := range t.Snapshot.ByName(stay) {
		if _, fails := failing[id]; fails {
			held = append(held, id)
		}
	}
	if len(held) == 0 {
		return Condition{}
	}
	return t.expressionCondition(held, "since an expression fails on every one", "They stay until the claim or score comes back, or the "+
		"placement is edited")
}

// expressionCondition returns ExpressionHeld for some selected clusters, with why they stay and until when.
func (t *Trace) expressionCondition(held []fleet.ID, why, until string) Condition {
	problems, names := t.failing(), []string(nil)
	for _, id := range held[:min(maxHeldNames, len(held))] {
		names = append(names, t.Snapshot.Name(id)+" ("+problems[id]+")")
	}
	if more := len(held) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	key := t.Program.Key
	return Condition{
		Type: clusterv1beta1.PlacementConditionExpressionHeld, Status: metav1.ConditionTrue, Reason: clusterv1beta1.ReasonValueMissing,
		Message: truncated(fmt.Sprintf("%d selected ManagedClusters stay %s: %s. %s. "+
			"To let them leave now: kubectl berth holds release placement/%s -n %s --hold Expression --reason WHY",
			len(held), why, strings.Join(names, ", "), until, key.Name, key.Namespace)),
	}
}

// failingUntil returns when the first of some clusters on which an expression fails leaves.
func (t *Trace) failingUntil(of []fleet.ID) time.Time {
	var out time.Time
	for _, id := range of {
		if until := t.hold.Until(id); out.IsZero() || until.Before(out) {
			out = until
		}
	}
	return out
}
