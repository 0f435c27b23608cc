package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// AddOnDeploymentConfig is how the agent of an add-on runs on a member. Both
// served versions have the same fields.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
type AddOnDeploymentConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The configuration.
	//
	// +required
	Spec addonv1alpha1.AddOnDeploymentConfigSpec `json:"spec"`
}

// AddOnDeploymentConfigList is a list of configurations.
//
// +kubebuilder:object:root=true
type AddOnDeploymentConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AddOnDeploymentConfig `json:"items"`
}
