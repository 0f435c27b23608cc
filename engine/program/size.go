package program

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	// maxExpressions is how many expressions a placement may have.
	maxExpressions = 256
	// maxCharacters is how many characters they may have together. Compiling so many takes a tenth of a second.
	maxCharacters = 65_536
)

// checkSize refuses a spec whose expressions are too many or too long together, before any of them is compiled.
func checkSize(spec *clusterv1beta1.PlacementSpec, path *field.Path) field.ErrorList {
	count, characters := 0, 0
	add := func(in clusterv1beta1.ClusterCelSelector) {
		for _, text := range in.CelExpressions {
			count, characters = count+1, characters+utf8.RuneCountInString(text)
		}
	}
	for _, predicate := range spec.Predicates {
		add(predicate.RequiredClusterSelector.CelSelector)
	}
	for _, tier := range spec.Tiers {
		add(tier.ClusterSelector.CelSelector)
	}
	for _, group := range spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		add(group.ClusterSelector.CelSelector)
	}
	if count <= maxExpressions && characters <= maxCharacters {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
		"it has %d CEL expressions of %d characters in all: at most %d expressions and %d characters are allowed; select by labels, claims or names instead",
		count, characters, maxExpressions, maxCharacters))}
}
