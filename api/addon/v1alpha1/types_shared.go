package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

// AddOnMeta is what people read about an add-on.
type AddOnMeta struct {
	// Name of the add-on for people.
	//
	// +optional
	DisplayName string `json:"displayName,omitempty"`

	// What the add-on does.
	//
	// +optional
	Description string `json:"description,omitempty"`
}

// ConfigCoordinates is the object that configures an add-on by its own kind.
type ConfigCoordinates struct {
	// Name of the definition of the kind.
	//
	// +optional
	CRDName string `json:"crdName,omitempty"`

	// Name of the object.
	//
	// +optional
	CRName string `json:"crName,omitempty"`

	// Generation of the object that the add-on has read.
	//
	// +optional
	LastObservedGeneration int64 `json:"lastObservedGeneration,omitempty"`
}

// ConfigGroupResource is a kind of configuration.
type ConfigGroupResource struct {
	// API group; empty for the core group.
	//
	// +optional
	// +kubebuilder:default=""
	Group string `json:"group"`

	// Resource: the plural in lower case.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Resource string `json:"resource"`
}

// ConfigReferent names an object with a configuration.
type ConfigReferent struct {
	// Namespace of the object; empty for a cluster-scoped object.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ConfigSpecHash names a configuration and its content.
type ConfigSpecHash struct {
	ConfigReferent `json:",inline"`

	// Hash of the configuration: SHA-256 of its spec, in hexadecimal digits.
	//
	// +optional
	SpecHash string `json:"specHash,omitempty"`
}

// AddOnConfig is one configuration of an add-on.
type AddOnConfig struct {
	ConfigGroupResource `json:",inline"`
	ConfigReferent      `json:",inline"`
}

// InstallStrategyType is who creates the ManagedClusterAddOns.
//
// +kubebuilder:validation:Enum=Manual;Placements
type InstallStrategyType string

const (
	// AddonInstallStrategyManual leaves it to users.
	AddonInstallStrategyManual InstallStrategyType = "Manual"
	// AddonInstallStrategyPlacements creates one on each cluster that a placement selects.
	AddonInstallStrategyPlacements InstallStrategyType = "Placements"
)

// InstallStrategy is where an add-on is installed.
type InstallStrategy struct {
	// `Manual`: where a user creates a ManagedClusterAddOn. `Placements`: on the
	// clusters of the placements.
	//
	// +optional
	// +kubebuilder:default=Manual
	Type InstallStrategyType `json:"type,omitempty"`

	// The placements, for type `Placements`.
	//
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	Placements []PlacementStrategy `json:"placements,omitempty"`
}

// PlacementRef names a Placement.
type PlacementRef struct {
	// Namespace of the Placement.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`

	// Name of the Placement.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// PlacementStrategy is how an add-on reaches the clusters of one placement.
type PlacementStrategy struct {
	PlacementRef `json:",inline"`

	// Configurations of the add-on on these clusters.
	//
	// +optional
	Configs []AddOnConfig `json:"configs,omitempty"`

	// Order and pace in which configurations change.
	//
	// +optional
	// +kubebuilder:default={type: All}
	RolloutStrategy clusterv1alpha1.RolloutStrategy `json:"rolloutStrategy,omitzero"`
}

// InstallProgression is the progress on the clusters of one placement.
type InstallProgression struct {
	PlacementRef `json:",inline"`

	// The configurations, each with what is desired and reached.
	//
	// +optional
	ConfigReferences []InstallConfigReference `json:"configReferences,omitempty"`

	// Conditions, such as Progressing.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// What the rollout of these configurations has shown so far. The manager stores it
	// before it starts a cluster.
	//
	// +optional
	Rollout *clusterv1alpha1.RolloutRecord `json:"rollout,omitempty"`
}

// InstallConfigReference is the progress of one configuration.
type InstallConfigReference struct {
	ConfigGroupResource `json:",inline"`

	// The configuration to reach.
	//
	// +optional
	DesiredConfig *ConfigSpecHash `json:"desiredConfig,omitempty"`

	// The configuration that was applied last.
	//
	// +optional
	LastAppliedConfig *ConfigSpecHash `json:"lastAppliedConfig,omitempty"`

	// The last configuration that all clusters have reached.
	//
	// +optional
	LastKnownGoodConfig *ConfigSpecHash `json:"lastKnownGoodConfig,omitempty"`
}

// ObjectReference names an object that belongs to an add-on.
type ObjectReference struct {
	// API group; empty for the core group.
	//
	// +required
	Group string `json:"group"`

	// Resource: the plural in lower case.
	//
	// +required
	Resource string `json:"resource"`

	// Namespace; empty for a cluster-scoped object.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name.
	//
	// +required
	Name string `json:"name"`
}

// HealthCheckMode is who reports the health of an add-on.
//
// +kubebuilder:validation:Enum=Lease;Customized
type HealthCheckMode string

// HealthCheck is how the health of an add-on becomes known.
type HealthCheck struct {
	// `Lease`: the agent of the cluster follows a Lease of the add-on.
	// `Customized`: the add-on writes condition Available itself.
	//
	// +optional
	// +kubebuilder:default=Lease
	Mode HealthCheckMode `json:"mode,omitempty"`
}
