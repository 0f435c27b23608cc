package program

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
)

const (
	// maxExpressions is how many expressions a placement may have.
	maxExpressions = 256
	// maxCharacters is how many characters they may have together. Compiling so many takes a tenth of a second.
	maxCharacters = 65_536
)

// checkSize rejects a spec with too many, too long or too costly expressions, before any of them is compiled.
func checkSize(spec *clusterv1beta1.PlacementSpec, env *celenv.Env, path *field.Path) field.ErrorList {
	texts := expressionsOf(spec)
	characters, atMost := 0, uint64(0)
	for _, text := range texts {
		characters += utf8.RuneCountInString(text)
		atMost += celenv.CompileCostBound(text)
	}
	if len(texts) > maxExpressions || characters > maxCharacters {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"it has %d CEL expressions of %d characters in all: at most %d expressions and %d characters are allowed; "+sizeAdvice,
			len(texts), characters, maxExpressions, maxCharacters))}
	}
	if atMost <= celenv.MaxCompileCost {
		return nil
	}
	effort := uint64(0)
	for _, text := range texts {
		effort += env.CompileCost(text)
	}
	if effort > celenv.MaxCompileCost {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"its %d CEL expressions take an effort of %d to compile, and %d is allowed: the operations of each expression, times those that "+
				"are calls, lists or maps; "+sizeAdvice,
			len(texts), effort, celenv.MaxCompileCost))}
	}
	return nil
}

// sizeAdvice is the advice for expressions that are too large.
const sizeAdvice = "select by labels, claims or names instead"

// expressionsOf returns every expression of a spec.
func expressionsOf(spec *clusterv1beta1.PlacementSpec) []string {
	var out []string
	for _, predicate := range spec.Predicates {
		out = append(out, predicate.RequiredClusterSelector.CelSelector.CelExpressions...)
	}
	for _, tier := range spec.Tiers {
		out = append(out, tier.ClusterSelector.CelSelector.CelExpressions...)
	}
	for _, group := range spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		out = append(out, group.ClusterSelector.CelSelector.CelExpressions...)
	}
	return out
}
