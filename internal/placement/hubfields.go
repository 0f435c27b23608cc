package placement

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/placement/live"
)

// hubRetry is when to retry while a required field is missing. Once the field is there, every placement is enqueued at once.
const hubRetry = time.Minute

// causeDefinitionsChanged is the cause of the attempts after a change of the CustomResourceDefinitions.
const causeDefinitionsChanged = "the CustomResourceDefinitions on the hub changed"

// withDroppedFields returns the input on a hub that drops status fields. A placement with a policy whose status field is dropped is
// misconfigured and keeps its decisions: without the stored budget, every evaluation would spend the budget again.
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
				"the CustomResourceDefinition of placements on the hub lacks status."+policy.account+
					", which stores the budget of this policy: apply config/crd"))
		}
	}
	return c
}
