package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// AddOnTemplate is the agent of an add-on: objects for the members, and the
// identities that it needs on the hub. Both served versions have the same
// fields.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="ADDON NAME",type=string,JSONPath=`.spec.addonName`
type AddOnTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The agent.
	//
	// +required
	Spec addonv1alpha1.AddOnTemplateSpec `json:"spec"`
}

// AddOnTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type AddOnTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AddOnTemplate `json:"items"`
}
