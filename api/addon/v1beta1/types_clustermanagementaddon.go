package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// ClusterManagementAddOn describes an add-on of the fleet.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName={cma,cmas}
// +kubebuilder:printcolumn:name="DISPLAY NAME",type=string,JSONPath=`.spec.addOnMeta.displayName`
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
	AddOnMeta addonv1alpha1.AddOnMeta `json:"addOnMeta,omitzero"`

	// Kinds of configuration that the add-on supports, each with the configuration
	// of clusters without one of their own. The name `__reserved_no_default__` stands
	// for none.
	//
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	DefaultConfigs []addonv1alpha1.AddOnConfig `json:"defaultConfigs,omitempty"`

	// Where the add-on is installed.
	//
	// +optional
	// +kubebuilder:default={type: Manual}
	InstallStrategy addonv1alpha1.InstallStrategy `json:"installStrategy,omitzero"`
}

// ClusterManagementAddOnStatus is the progress of an add-on.
type ClusterManagementAddOnStatus struct {
	// The default configurations in force.
	//
	// +optional
	DefaultConfigReferences []addonv1alpha1.DefaultConfigReference `json:"defaultConfigReferences,omitempty"`

	// The progress on the clusters of each placement.
	//
	// +optional
	InstallProgressions []addonv1alpha1.InstallProgression `json:"installProgressions,omitempty"`
}
