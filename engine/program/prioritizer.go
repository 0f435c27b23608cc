package program

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	maxWeight     = 10
	defaultSpread = 2
)

// Kind is the formula of a prioritizer.
type Kind uint8

// The prioritizers.
const (
	Balance Kind = iota + 1
	Steady
	AllocatableCPU
	AllocatableMemory
	AddOn
	// Spread is the prioritizer of Program.SpreadWeight. It depends on the clusters chosen so far, so it has no column of
	// scores and is never in Program.Prioritizers.
	Spread
)

// Prioritizer is a formula for scores and its weight.
type Prioritizer struct {
	Kind   Kind
	Weight int64
	// Resource and Score name an add-on score; empty for the others.
	Resource, Score string
}

// Name returns the name under which the prioritizer appears in traces, such as "Balance" or "AddOn/resource/score".
func (p Prioritizer) Name() string {
	switch p.Kind {
	case Balance:
		return "Balance"
	case Steady:
		return "Steady"
	case AllocatableCPU:
		return "ResourceAllocatableCPU"
	case AllocatableMemory:
		return "ResourceAllocatableMemory"
	case Spread:
		return "Spread"
	default:
		return "AddOn/" + p.Resource + "/" + p.Score
	}
}

// ReadsFacts reports whether the score of a cluster depends on what is reported about it, and not on decisions.
func (p Prioritizer) ReadsFacts() bool {
	return p.Kind == AllocatableCPU || p.Kind == AllocatableMemory || p.Kind == AddOn
}

// compilePrioritizers returns the weights, the weight of Spread separately. In Additive mode the listed weights override
// Balance 1, Steady 1 and Spread 2. In Exact mode only the listed weights count.
func compilePrioritizers(in clusterv1beta1.PrioritizerPolicy, path *field.Path) (by []Prioritizer, spread int64, faults field.ErrorList) {
	weights := map[Prioritizer]int64{}
	switch in.Mode {
	case "", clusterv1beta1.PrioritizerPolicyModeAdditive:
		weights[Prioritizer{Kind: Balance}] = 1
		weights[Prioritizer{Kind: Steady}] = 1
		weights[Prioritizer{Kind: Spread}] = defaultSpread
	case clusterv1beta1.PrioritizerPolicyModeExact:
	default:
		faults = append(faults, field.Invalid(path.Child("mode"), in.Mode,
			"incorrect prioritizer policy mode: "+string(in.Mode)+", use Additive or Exact"))
	}
	listed := map[Prioritizer]bool{}
	for i, config := range nonZeroConfigurations(in.Configurations) {
		at := path.Child("configurations").Index(i)
		weight := weightOf(config)
		if weight < -maxWeight || weight > maxWeight {
			faults = append(faults, field.Invalid(at.Child("weight"), weight, "must be between -10 and 10"))
		}
		coordinate, errs := compileCoordinate(config.ScoreCoordinate, at.Child("scoreCoordinate"))
		faults = append(faults, errs...)
		if len(errs) == 0 && listed[coordinate] {
			faults = append(faults, field.Duplicate(at.Child("scoreCoordinate"), coordinate.Name()))
		}
		listed[coordinate] = true
		weights[coordinate] = weight
	}
	spread = weights[Prioritizer{Kind: Spread}]
	delete(weights, Prioritizer{Kind: Spread})
	return sortedPrioritizers(weights), spread, faults
}

// sortedPrioritizers returns the prioritizers that count, in the order in which traces show them.
func sortedPrioritizers(weights map[Prioritizer]int64) []Prioritizer {
	var out []Prioritizer
	for prioritizer, weight := range weights {
		if weight != 0 {
			prioritizer.Weight = weight
			out = append(out, prioritizer)
		}
	}
	slices.SortFunc(out, func(a, b Prioritizer) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Score, b.Score))
	})
	return out
}

func weightOf(config clusterv1beta1.PrioritizerConfig) int64 {
	if config.Weight == nil {
		return 1
	}
	return int64(*config.Weight)
}

// compileCoordinate returns a prioritizer without a weight.
func compileCoordinate(in *clusterv1beta1.ScoreCoordinate, path *field.Path) (Prioritizer, field.ErrorList) {
	if in == nil {
		return Prioritizer{}, field.ErrorList{field.Required(path, "scoreCoordinate field is required")}
	}
	switch in.Type {
	case "", clusterv1beta1.ScoreCoordinateTypeBuiltIn:
		return compileBuiltIn(in.BuiltIn, path.Child("builtIn"))
	case clusterv1beta1.ScoreCoordinateTypeAddOn:
		return compileAddOn(in.AddOn, path.Child("addOn"))
	default:
		return Prioritizer{}, field.ErrorList{field.NotSupported(path.Child("type"), in.Type,
			[]clusterv1beta1.ScoreCoordinateType{clusterv1beta1.ScoreCoordinateTypeBuiltIn, clusterv1beta1.ScoreCoordinateTypeAddOn})}
	}
}

func compileBuiltIn(name string, path *field.Path) (Prioritizer, field.ErrorList) {
	switch name {
	case clusterv1beta1.PrioritizerBalance:
		return Prioritizer{Kind: Balance}, nil
	case clusterv1beta1.PrioritizerSteady:
		return Prioritizer{Kind: Steady}, nil
	case clusterv1beta1.PrioritizerResourceAllocatableCPU:
		return Prioritizer{Kind: AllocatableCPU}, nil
	case clusterv1beta1.PrioritizerResourceAllocatableMemory:
		return Prioritizer{Kind: AllocatableMemory}, nil
	case clusterv1beta1.PrioritizerSpread:
		return Prioritizer{Kind: Spread}, nil
	default:
		return Prioritizer{}, field.ErrorList{field.Invalid(path, name, "incorrect builtin prioritizer: "+name)}
	}
}

func compileAddOn(in *clusterv1beta1.AddOnScore, path *field.Path) (Prioritizer, field.ErrorList) {
	if in == nil {
		return Prioritizer{}, field.ErrorList{field.Required(path, "addOn should not be empty")}
	}
	var faults field.ErrorList
	if in.ResourceName == "" {
		faults = append(faults, field.Required(path.Child("resourceName"), "name the AddOnPlacementScore"))
	}
	if in.ScoreName == "" {
		faults = append(faults, field.Required(path.Child("scoreName"), "name the score in the AddOnPlacementScore"))
	}
	return Prioritizer{Kind: AddOn, Resource: in.ResourceName, Score: in.ScoreName}, faults
}
