package v1beta1

// SpreadPolicy is how selected clusters are spread over a topology.
type SpreadPolicy struct {
	// Constraints in order of importance, at most 8. Each divides the clusters
	// that qualify into domains by the value of a label or claim, within the
	// domains of the constraints before it. With region first and zone second,
	// zones are balanced inside each region.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=8
	SpreadConstraints []SpreadConstraintsTerm `json:"spreadConstraints,omitempty"`

	// Topologies in which no two selected clusters may share a domain, at most 8.
	// Unlike a spread constraint with maxSkew 1, which starts another round once
	// every domain has a cluster, this never puts a second one in a domain.
	// Clusters without the label or claim are not selected.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=8
	AntiAffinity []AntiAffinityTerm `json:"antiAffinity,omitempty"`
}

// SpreadConstraintsTerm keeps the domains of one topology evenly filled.
type SpreadConstraintsTerm struct {
	// Name of the label or claim whose values are the domains, such as
	// `topology.kubernetes.io/region`.
	//
	// +required
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	TopologyKey string `json:"topologyKey"`

	// Where the key is looked up: in the `Label`s of the ManagedCluster or among
	// its `Claim`s.
	//
	// +required
	TopologyKeyType TopologyKeyType `json:"topologyKeyType"`

	// How far the number of selected clusters in one domain may exceed that in the
	// emptiest domain beside it. At least 1, which is the default.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MaxSkew int32 `json:"maxSkew,omitempty"`

	// What to do when maxSkew cannot be kept. `ScheduleAnyway`, the default: prefer
	// the emptier domains and select nevertheless; it needs spec.numberOfClusters to
	// have an effect, and clusters without the key count as one domain.
	// `DoNotSchedule`: select no further cluster that exceeds it. Selected clusters
	// stay until a replacement is selected, and the condition SpreadExceeded names
	// the domains that exceed it. Clusters without the key are not selected.
	//
	// +optional
	// +kubebuilder:default=ScheduleAnyway
	WhenUnsatisfiable UnsatisfiableMaxSkewAction `json:"whenUnsatisfiable,omitempty"`
}

// AntiAffinityTerm allows at most one selected cluster in each domain of a
// topology.
type AntiAffinityTerm struct {
	// Name of the label or claim whose values must all differ, such as
	// `topology.kubernetes.io/region`.
	//
	// +required
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	TopologyKey string `json:"topologyKey"`

	// Where the key is looked up: in the `Label`s of the ManagedCluster or among
	// its `Claim`s.
	//
	// +required
	TopologyKeyType TopologyKeyType `json:"topologyKeyType"`
}

// TopologyKeyType is where a topology key is looked up.
//
// +kubebuilder:validation:Enum=Label;Claim
type TopologyKeyType string

const (
	// TopologyKeyTypeLabel looks the key up in the labels of the ManagedCluster.
	TopologyKeyTypeLabel TopologyKeyType = "Label"
	// TopologyKeyTypeClaim looks the key up among the claims of the
	// ManagedCluster.
	TopologyKeyTypeClaim TopologyKeyType = "Claim"
)

// UnsatisfiableMaxSkewAction is what to do when a skew cannot be kept.
//
// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
type UnsatisfiableMaxSkewAction string

const (
	// DoNotSchedule selects no further cluster that exceeds the skew. Selected clusters stay until a replacement is selected.
	DoNotSchedule UnsatisfiableMaxSkewAction = "DoNotSchedule"
	// ScheduleAnyway prefers a smaller skew and selects nevertheless.
	ScheduleAnyway UnsatisfiableMaxSkewAction = "ScheduleAnyway"
)
