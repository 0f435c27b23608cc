package program

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// maxName is the longest name a Placement may have: it is the value of a label on every slice.
const maxName = 63

// Compile checks a Placement and compiles it. Every fault found is returned, each with its field, in spec order; the
// Program is nil if there is one. The Placement is not retained.
func Compile(placement *clusterv1beta1.Placement, env *celenv.Env) (*Program, field.ErrorList) {
	spec, path := placement.Spec, field.NewPath("spec")
	out := &Program{
		Key:         fleet.Key{Namespace: placement.Namespace, Name: placement.Name},
		ClusterSets: slices.Clone(spec.ClusterSets),
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
	out.Prioritizers, errs = compilePrioritizers(spec.PrioritizerPolicy, path.Child("prioritizerPolicy"))
	faults = append(faults, errs...)
	out.Tolerations, errs = compileTolerations(spec.Tolerations, path.Child("tolerations"))
	faults = append(faults, errs...)
	out.Groups, errs = compileStrategy(spec.DecisionStrategy.GroupStrategy, path.Child("decisionStrategy", "groupStrategy"))
	faults = append(faults, errs...)
	out.Unsupported = unsupported(spec)
	if len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}

// unsupported names what is legal in the API and not yet scheduled by.
func unsupported(spec clusterv1beta1.PlacementSpec) []string {
	var out []string
	if slices.ContainsFunc(spec.PrioritizerPolicy.Configurations, usesSpread) {
		out = append(out, "spec.prioritizerPolicy: the Spread prioritizer")
	}
	if len(spec.SpreadPolicy.SpreadConstraints) > 0 {
		out = append(out, "spec.spreadPolicy.spreadConstraints")
	}
	if len(spec.SpreadPolicy.AntiAffinity) > 0 {
		out = append(out, "spec.spreadPolicy.antiAffinity")
	}
	return out
}

func compilePredicates(in []clusterv1beta1.ClusterPredicate, env *celenv.Env, path *field.Path) ([]Predicate, field.ErrorList) {
	out := make([]Predicate, 0, len(in))
	var faults field.ErrorList
	for i, predicate := range in {
		selector, at := predicate.RequiredClusterSelector, path.Index(i).Child("requiredClusterSelector")
		byLabel, errs := fleet.LabelSelector(selector.LabelSelector, at.Child("labelSelector"))
		faults = append(faults, errs...)
		byClaim, errs := fleet.ClaimSelector(selector.ClaimSelector.MatchExpressions, at.Child("claimSelector"))
		faults = append(faults, errs...)
		made := Predicate{Selector: append(byLabel, byClaim...)}
		for j, text := range selector.CelSelector.CelExpressions {
			expression, err := env.Compile(text)
			if err != nil {
				faults = append(faults, field.Invalid(at.Child("celSelector", "celExpressions").Index(j), text, err.Error()))
				continue
			}
			made.Expressions = append(made.Expressions, expression)
		}
		out = append(out, made)
	}
	return out, faults
}

func compileTolerations(in []clusterv1beta1.Toleration, path *field.Path) ([]Toleration, field.ErrorList) {
	out := make([]Toleration, 0, len(in))
	var faults field.ErrorList
	for i, toleration := range in {
		at := path.Index(i)
		exists := toleration.Operator == clusterv1beta1.TolerationOpExists
		if !exists && toleration.Operator != "" && toleration.Operator != clusterv1beta1.TolerationOpEqual {
			faults = append(faults, field.NotSupported(at.Child("operator"), toleration.Operator,
				[]clusterv1beta1.TolerationOperator{clusterv1beta1.TolerationOpExists, clusterv1beta1.TolerationOpEqual}))
		}
		if toleration.Key == "" && !exists {
			faults = append(faults, field.Invalid(at.Child("operator"), toleration.Operator,
				"If the key is empty, operator must be Exists."))
		}
		if exists && toleration.Value != "" {
			faults = append(faults, field.Invalid(at.Child("value"), toleration.Value,
				"If the operator is Exists, the value should be empty."))
		}
		switch toleration.Effect {
		case "", clusterv1.TaintEffectNoSelect, clusterv1.TaintEffectPreferNoSelect, clusterv1.TaintEffectNoSelectIfNew:
		default:
			faults = append(faults, field.NotSupported(at.Child("effect"), toleration.Effect, []clusterv1.TaintEffect{
				clusterv1.TaintEffectNoSelect, clusterv1.TaintEffectPreferNoSelect, clusterv1.TaintEffectNoSelectIfNew,
			}))
		}
		out = append(out, Toleration{
			Key: toleration.Key, Exists: exists, Value: toleration.Value,
			Effect: toleration.Effect, Seconds: toleration.TolerationSeconds,
		})
	}
	return out, faults
}
