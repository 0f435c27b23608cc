package v1beta1

// PrioritizerPolicy is how clusters that qualify are ranked. Each prioritizer
// gives a cluster a score from -100 to 100; the total is the sum of the scores
// times their weights; the highest total ranks first, ties go by name.
type PrioritizerPolicy struct {
	// What the configurations add up to. `Additive`, the default: they come on top
	// of Balance and Steady with weight 1 each, which they may override. `Exact`:
	// they are the only prioritizers. Any other value makes the placement
	// misconfigured.
	//
	// +optional
	// +kubebuilder:default=Additive
	Mode PrioritizerPolicyModeType `json:"mode,omitempty"`

	// Prioritizers and their weights. Each may be listed once.
	//
	// +optional
	Configurations []PrioritizerConfig `json:"configurations,omitempty"`
}

// PrioritizerPolicyModeType is what the configurations of a policy are added
// to.
type PrioritizerPolicyModeType string

const (
	// PrioritizerPolicyModeAdditive adds the configurations to the default
	// prioritizers.
	PrioritizerPolicyModeAdditive PrioritizerPolicyModeType = "Additive"
	// PrioritizerPolicyModeExact uses the configurations and nothing else.
	PrioritizerPolicyModeExact PrioritizerPolicyModeType = "Exact"
)

// PrioritizerConfig gives a prioritizer its weight.
type PrioritizerConfig struct {
	// Which prioritizer is meant.
	//
	// +required
	ScoreCoordinate *ScoreCoordinate `json:"scoreCoordinate,omitempty"`

	// By how much the score counts, from -10 to 10. Defaults to 1. A negative
	// weight prefers clusters with low scores; 0 turns the prioritizer off.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=-10
	// +kubebuilder:validation:Maximum=10
	Weight *int32 `json:"weight,omitempty"`
}

// ScoreCoordinate names a prioritizer.
type ScoreCoordinate struct {
	// Whether the prioritizer is built in (`BuiltIn`, the default; see builtIn) or
	// reads an AddOnPlacementScore (`AddOn`; see addOn).
	//
	// +optional
	// +kubebuilder:default=BuiltIn
	Type ScoreCoordinateType `json:"type,omitempty"`

	// Name of a built-in prioritizer, for type BuiltIn. `Balance` prefers clusters
	// that few other placements selected. `Steady` prefers clusters that this
	// placement already selected. `ResourceAllocatableCPU` and
	// `ResourceAllocatableMemory` prefer clusters that offer the most. `Spread`
	// sets the weight of spec.spreadPolicy. Any other name makes the placement
	// misconfigured.
	//
	// +optional
	BuiltIn string `json:"builtIn,omitempty"`

	// A score that an add-on publishes, for type AddOn.
	//
	// +optional
	AddOn *AddOnScore `json:"addOn,omitempty"`
}

// ScoreCoordinateType is a kind of prioritizer.
//
// +kubebuilder:validation:Enum=BuiltIn;AddOn
type ScoreCoordinateType string

const (
	// ScoreCoordinateTypeBuiltIn is a prioritizer that Berth brings along.
	ScoreCoordinateTypeBuiltIn ScoreCoordinateType = "BuiltIn"
	// ScoreCoordinateTypeAddOn is a score read from AddOnPlacementScore objects.
	ScoreCoordinateTypeAddOn ScoreCoordinateType = "AddOn"
)

// Names of the built-in prioritizers.
const (
	// PrioritizerBalance prefers clusters that few other placements selected.
	PrioritizerBalance = "Balance"
	// PrioritizerSteady prefers clusters that the placement already selected.
	PrioritizerSteady = "Steady"
	// PrioritizerResourceAllocatableCPU prefers clusters with the most allocatable
	// CPU.
	PrioritizerResourceAllocatableCPU = "ResourceAllocatableCPU"
	// PrioritizerResourceAllocatableMemory prefers clusters with the most
	// allocatable memory.
	PrioritizerResourceAllocatableMemory = "ResourceAllocatableMemory"
	// PrioritizerSpread prefers clusters in the emptiest domains of the spread
	// policy.
	PrioritizerSpread = "Spread"
)

// AddOnScore names one score of the AddOnPlacementScore objects of one
// provider.
type AddOnScore struct {
	// Name of the AddOnPlacementScore, which is looked up in the namespace of each
	// cluster. A cluster without one scores 0.
	//
	// +required
	ResourceName string `json:"resourceName"`

	// Name of the score in that object. A cluster without it scores 0.
	//
	// +required
	ScoreName string `json:"scoreName"`
}
