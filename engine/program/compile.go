package program

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// maxName is the longest name a Placement may have: it is the value of a label on every slice.
const maxName = 63

// Compile checks a Placement and compiles it. It returns every fault with its field, in spec order; with a fault the
// Program is nil. The Placement is not retained.
func Compile(placement *clusterv1beta1.Placement, env *celenv.Env) (*Program, field.ErrorList) {
	spec, path := placement.Spec, field.NewPath("spec")
	out := &Program{
		Key:         fleet.Key{Namespace: placement.Namespace, Name: placement.Name},
		ClusterSets: slices.Clone(spec.ClusterSets),
	}
	if faults := checkSize(&spec, env, path); len(faults) > 0 {
		return nil, faults
	}
	var faults field.ErrorList
	if len(placement.Name) > maxName {
		faults = append(faults, field.TooLong(field.NewPath("metadata", "name"), placement.Name, maxName))
	}
	if spec.NumberOfClusters != nil {
		out.Wanted, out.Limited = int(*spec.NumberOfClusters), true
		if out.Wanted < 0 {
			faults = append(faults, field.Invalid(path.Child("numberOfClusters"), out.Wanted, "must be 0 or more"))
		}
	}
	var errs field.ErrorList
	out.Predicates, errs = compilePredicates(spec.Predicates, env, path.Child("predicates"))
	faults = append(faults, errs...)
	out.Tiers, errs = compileTiers(spec.Tiers, env, path.Child("tiers"))
	faults = append(faults, errs...)
	out.Stabilization, errs = compileFailback(spec.FailbackPolicy, len(spec.Tiers) > 0, path.Child("failbackPolicy"))
	faults = append(faults, errs...)
	out.Budget, errs = compileBudget(spec.DisruptionPolicy, path.Child("disruptionPolicy"))
	faults = append(faults, errs...)
	out.Prioritizers, out.SpreadWeight, errs = compilePrioritizers(spec.PrioritizerPolicy, path.Child("prioritizerPolicy"))
	faults = append(faults, errs...)
	out.Spread, errs = compileSpread(spec.SpreadPolicy.SpreadConstraints, path.Child("spreadPolicy", "spreadConstraints"))
	faults = append(faults, errs...)
	out.Spread = effectiveConstraints(out.Spread, out.Limited)
	out.AntiAffinity, errs = compileAntiAffinity(spec.SpreadPolicy.AntiAffinity, path.Child("spreadPolicy", "antiAffinity"))
	faults = append(faults, errs...)
	out.Tolerations, errs = compileTolerations(spec.Tolerations, path.Child("tolerations"))
	faults = append(faults, errs...)
	out.Groups, errs = compileStrategy(spec.DecisionStrategy.GroupStrategy, env, path.Child("decisionStrategy", "groupStrategy"))
	faults = append(faults, errs...)
	out.ByScore, errs = compileSortBy(spec.SortBy, path.Child("sortBy"))
	faults = append(faults, errs...)
	out.ScoreEvery, errs = compileRateLimit(spec.ScoreRateLimit, path.Child("scoreRateLimit"))
	faults = append(faults, errs...)
	if len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}
