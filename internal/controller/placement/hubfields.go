package placement

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/live"
)

// hubRetry is when a placement is tried again that waits for what the hub lacks. It is woken at once where that comes.
const hubRetry = time.Minute

// causeDefinitionsChanged is what wakes placements when the hub has other definitions.
const causeDefinitionsChanged = "the definitions on the hub changed"

// droppedFields says whether the hub has what decisions need, and which fields of statuses it drops.
func (r *reconciler) droppedFields() (dropped plan.Dropped, ok bool) {
	if r.hub == nil {
		return plan.Dropped{}, true
	}
	return r.hub.DroppedFields()
}

// withDroppedFields returns a case on a hub that drops fields. A policy whose account is not stored cannot be followed: without the account
// of a budget every evaluation would spend it anew. So such a placement is misconfigured, and keeps its decisions.
func withDroppedFields(c live.Input, dropped plan.Dropped) live.Input {
	c.Stored.Dropped = dropped
	spec := c.Stored.Placement.Spec
	for _, policy := range []struct {
		field, account string
		used           bool
	}{
		{"disruptionPolicy", "disruption", spec.DisruptionPolicy != nil},
		{"failbackPolicy", "failback", spec.FailbackPolicy != nil},
	} {
		if policy.used && slices.ContainsFunc(dropped.Placement, func(path string) bool {
			return path == policy.account || strings.HasPrefix(path, policy.account+".")
		}) {
			c.Faults = append(slices.Clip(c.Faults), field.Forbidden(field.NewPath("spec", policy.field),
				"the definition of placements on the hub lacks status."+policy.account+", where the account of this policy is kept; apply config/crd"))
		}
	}
	return c
}
