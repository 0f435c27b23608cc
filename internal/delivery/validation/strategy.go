package validation

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/rollout"
)

// strategyWarnings warns of fields of a strategy that have no effect. The schema refuses the sections of other types under type All.
func strategyWarnings(strategy *workv1alpha1.PlacementRolloutStrategy, path *field.Path) []string {
	kind := cmp.Or(strategy.Type, clusterv1alpha1.All)
	var out []string
	config := clusterv1alpha1.RolloutConfig{}
	section := func(name string, of clusterv1alpha1.RolloutType, set bool) {
		if set && kind != of {
			out = append(out, fmt.Sprintf("%s has no effect with type %s: remove it, or set type to %s", path.Child(name), kind, of))
		}
	}
	byDefault := clusterv1alpha1.RolloutAll{RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "None"}}
	section("all", clusterv1alpha1.All, strategy.All != nil && *strategy.All != byDefault)
	section("progressive", clusterv1alpha1.Progressive, strategy.Progressive != nil)
	section("progressivePerGroup", clusterv1alpha1.ProgressivePerGroup, strategy.ProgressivePerGroup != nil)
	switch {
	case kind == clusterv1alpha1.All && strategy.All != nil:
		if config = strategy.All.RolloutConfig; config.MinSuccessTime.Duration != 0 {
			out = append(out, fmt.Sprintf("%s has no effect with type All, which starts every cluster at once: remove it, or choose another type",
				path.Child("all", "minSuccessTime")))
		}
	case kind == clusterv1alpha1.Progressive && strategy.Progressive != nil:
		config = strategy.Progressive.RolloutConfig
	case kind == clusterv1alpha1.ProgressivePerGroup && strategy.ProgressivePerGroup != nil:
		config = strategy.ProgressivePerGroup.RolloutConfig
	}
	mandatory := rollout.MandatoryGroups(&strategy.RolloutStrategy)
	if strategy.FailureStrategy == workv1alpha1.AbortAll && config.MaxFailures.String() == "100%" && len(mandatory) == 0 {
		out = append(out, fmt.Sprintf("%s has no effect with maxFailures 100%%: no number of failures is more, so nothing "+
			"returns; lower maxFailures",
			path.Child("failureStrategy")))
	}
	return out
}
