package override

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

const (
	// MaxOverrides is how many overrides a set may have. maxTargets and maxPatches bound each of them.
	MaxOverrides           = 20
	maxTargets, maxPatches = 20, 20
	// maxValues is how many bytes the values of all patches may have together, maxExpressions those of all CEL expressions.
	maxValues, maxExpressions = 128 * 1024, 16 * 1024
)

// Overrides are compiled overrides. They are immutable.
type Overrides struct {
	list []override
	// facets are the parts of a cluster that selectors, expressions and variables read.
	facets fleet.Facet
}

// override is one compiled override.
type override struct {
	selector program.Predicate
	targets  []workv1.ResourceIdentifier
	patches  []patch
}

// Compile compiles overrides. It returns every fault with its field below path; with a fault the Overrides are nil.
func Compile(list []workv1alpha1.ClusterOverride, env *celenv.Env, path *field.Path) (*Overrides, field.ErrorList) {
	if faults := checkSize(list, env, path); len(faults) > 0 {
		return nil, faults
	}
	out := &Overrides{}
	var faults field.ErrorList
	for i := range list {
		made, errs := compileOne(&list[i], env, path.Index(i))
		faults = append(faults, errs...)
		out.list = append(out.list, made)
		out.facets |= made.facets()
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}

// Facets returns the parts of a cluster that a rendering depends on. A change of other parts changes no rendering.
func (o *Overrides) Facets() fleet.Facet { return o.facets }

// checkSize rejects too many, too long or too costly parts, before any is compiled.
func checkSize(list []workv1alpha1.ClusterOverride, env *celenv.Env, path *field.Path) field.ErrorList {
	if len(list) > MaxOverrides {
		return field.ErrorList{field.TooMany(path, len(list), MaxOverrides)}
	}
	values, characters, effort := 0, 0, uint64(0)
	for i := range list {
		for _, text := range list[i].ClusterSelector.CelSelector.CelExpressions {
			characters += len(text)
			effort += env.CompileCost(text)
		}
		for _, patch := range list[i].Patches {
			if patch.Value != nil {
				values += len(patch.Value.Raw)
			}
		}
	}
	var faults field.ErrorList
	if values > maxValues {
		faults = append(faults, field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("the values of its patches have %d bytes together, at most %d are allowed", values, maxValues)))
	}
	if characters > maxExpressions || effort > celenv.MaxCompileCost {
		faults = append(faults, field.Invalid(path, field.OmitValueType{},
			"its CEL expressions are too long or too complex: select by labels, claims or names instead"))
	}
	return faults
}

func compileOne(in *workv1alpha1.ClusterOverride, env *celenv.Env, path *field.Path) (override, field.ErrorList) {
	selector, faults := compileSelector(in.ClusterSelector, env, path.Child("clusterSelector"))
	out := override{selector: selector, targets: in.Targets}
	faults = append(faults, checkTargets(in.Targets, path.Child("targets"))...)
	patches := path.Child("patches")
	switch {
	case len(in.Patches) == 0:
		return out, append(faults, field.Required(patches, "write at least one operation"))
	case len(in.Patches) > maxPatches:
		return out, append(faults, field.TooMany(patches, len(in.Patches), maxPatches))
	}
	for i := range in.Patches {
		made, errs := compilePatch(&in.Patches[i], patches.Index(i))
		faults = append(faults, errs...)
		out.patches = append(out.patches, made)
	}
	return out, faults
}

// compileSelector compiles a selector as that of a placement. Scores are refused: a score of an add-on would start rollouts.
func compileSelector(in clusterv1beta1.ClusterSelector, env *celenv.Env, path *field.Path) (program.Predicate, field.ErrorList) {
	out, faults := program.CompileSelector(in, env, path)
	for i, expression := range out.Expressions {
		if names, computed := expression.Scores(); computed || len(names) > 0 {
			faults = append(faults, field.Forbidden(path.Child("celSelector", "celExpressions").Index(i),
				"an override may not read scores: use labels or claims"))
		}
	}
	return out, faults
}

func checkTargets(targets []workv1.ResourceIdentifier, path *field.Path) field.ErrorList {
	switch {
	case len(targets) == 0:
		return field.ErrorList{field.Required(path, "name at least one manifest")}
	case len(targets) > maxTargets:
		return field.ErrorList{field.TooMany(path, len(targets), maxTargets)}
	}
	var faults field.ErrorList
	for i, target := range targets {
		if target.Resource == "" {
			faults = append(faults, field.Required(path.Index(i).Child("resource"), "write the plural in lower case, such as deployments"))
		}
		if target.Name == "" {
			faults = append(faults, field.Required(path.Index(i).Child("name"), `write a name, or "*" for every name`))
		}
	}
	return faults
}

// facets returns the parts of a cluster that the override reads.
func (o *override) facets() fleet.Facet {
	var out fleet.Facet
	for _, requirement := range o.selector.Selector {
		out |= facetOf(requirement.Source)
	}
	for _, expression := range o.selector.Expressions {
		out |= expression.Facets()
	}
	for _, patch := range o.patches {
		for source := range patch.sources {
			out |= facetOf(source)
		}
	}
	return out
}

// facetOf returns the part of a cluster that has the values of a source. A name never changes.
func facetOf(source fleet.Source) fleet.Facet {
	switch source {
	case fleet.Label:
		return fleet.FacetLabels
	case fleet.Claim:
		return fleet.FacetClaims
	default:
		return 0
	}
}
