package program

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
)

const (
	maxTiers    = 16
	maxTierName = 63
)

// Tier is one of spec.tiers.
type Tier struct {
	Name string
	Predicate
}

func compileTiers(in []clusterv1beta1.ClusterTier, env *celenv.Env, path *field.Path) ([]Tier, field.ErrorList) {
	if len(in) > maxTiers {
		return nil, field.ErrorList{field.TooMany(path, len(in), maxTiers)}
	}
	var out []Tier
	var faults field.ErrorList
	taken := map[string]bool{}
	for i, tier := range in {
		at := path.Index(i)
		switch {
		case tier.Name == "":
			faults = append(faults, field.Required(at.Child("name"), "name the tier, such as primary"))
		case len(tier.Name) > maxTierName || !tierName.MatchString(tier.Name):
			faults = append(faults, field.Invalid(at.Child("name"), tier.Name,
				"must be at most 63 letters, digits, '-', '_' or '.', the first and last a letter or digit"))
		case taken[tier.Name]:
			faults = append(faults, field.Duplicate(at.Child("name"), tier.Name))
		}
		taken[tier.Name] = true
		selector, errs := CompileSelector(tier.ClusterSelector, env, at.Child("clusterSelector"))
		out, faults = append(out, Tier{Name: tier.Name, Predicate: selector}), append(faults, errs...)
	}
	return out, faults
}

var tierName = regexp.MustCompile(`^[a-zA-Z0-9]([-A-Za-z0-9_.]*[a-zA-Z0-9])?$`)
