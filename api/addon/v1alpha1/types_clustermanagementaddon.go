package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterManagementAddOn describes an add-on of the fleet.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster,shortName={cma,cmas}
// +kubebuilder:printcolumn:name="DISPLAY NAME",type=string,JSONPath=`.spec.addOnMeta.displayName`
// +kubebuilder:printcolumn:name="CRD NAME",type=string,JSONPath=`.spec.addOnConfiguration.crdName`
type ClusterManagementAddOn struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the add-on is, and where it is installed.
	//
	// +required
	Spec ClusterManagementAddOnSpec `json:"spec"`

	// The progress of its installation.
	//
	// +optional
	Status ClusterManagementAddOnStatus `json:"status,omitzero"`
}

// ClusterManagementAddOnList is a list of add-ons.
//
// +kubebuilder:object:root=true
type ClusterManagementAddOnList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterManagementAddOn `json:"items"`
}

// ClusterManagementAddOnSpec is what an add-on is, and where it is installed.
type ClusterManagementAddOnSpec struct {
	// What people read about the add-on.
	//
	// +optional
	AddOnMeta AddOnMeta `json:"addOnMeta,omitzero"`

	// The object that configures the add-on by its own kind.
	//
	// +optional
	AddOnConfiguration ConfigCoordinates `json:"addOnConfiguration,omitzero"`

	// Kinds of configuration that the add-on supports, with their defaults.
	//
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	SupportedConfigs []ConfigMeta `json:"supportedConfigs,omitempty"`

	// Where the add-on is installed.
	//
	// +optional
	// +kubebuilder:default={type: Manual}
	InstallStrategy InstallStrategy `json:"installStrategy,omitzero"`
}

// ConfigMeta is a kind of configuration, and its default.
type ConfigMeta struct {
	ConfigGroupResource `json:",inline"`

	// The configuration of clusters without one of their own.
	//
	// +optional
	DefaultConfig *ConfigReferent `json:"defaultConfig,omitempty"`
}

// ClusterManagementAddOnStatus is the progress of an add-on.
type ClusterManagementAddOnStatus struct {
	// The default configurations in force.
	//
	// +optional
	DefaultConfigReferences []DefaultConfigReference `json:"defaultconfigReferences,omitempty"`

	// The progress on the clusters of each placement.
	//
	// +optional
	InstallProgressions []InstallProgression `json:"installProgressions,omitempty"`
}

// DefaultConfigReference is a default configuration.
type DefaultConfigReference struct {
	ConfigGroupResource `json:",inline"`

	// The configuration and its content.
	//
	// +optional
	DesiredConfig *ConfigSpecHash `json:"desiredConfig,omitempty"`
}
