package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagedClusterSetBinding lets the placements of its namespace choose from
// the clusters of a set. Its name must be that of the set. Creating one needs
// the permission `create` on `managedclustersets/bind` for the set. Deleting
// it takes the set's clusters out of the namespace's decisions, unless another
// bound set has them too.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,shortName={mclsetbinding,mclsetbindings}
// +kubebuilder:printcolumn:name="Bound",type=string,JSONPath=`.status.conditions[?(@.type=="Bound")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.clusterSet) && self.metadata.name == self.spec.clusterSet",message="must be the same as metadata.name",fieldPath=".spec.clusterSet"
type ManagedClusterSetBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which set is bound.
	//
	// +optional
	Spec ManagedClusterSetBindingSpec `json:"spec,omitzero"`

	// Whether that set exists.
	//
	// +optional
	Status ManagedClusterSetBindingStatus `json:"status,omitzero"`
}

// ManagedClusterSetBindingList is a list of bindings.
//
// +kubebuilder:object:root=true
type ManagedClusterSetBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManagedClusterSetBinding `json:"items"`
}

// ManagedClusterSetBindingSpec names the bound set.
type ManagedClusterSetBindingSpec struct {
	// Name of the set, the same as the name of this object; it can therefore not
	// be changed later. The set need not exist yet: the binding takes effect when
	// it does.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	ClusterSet string `json:"clusterSet,omitempty"`
}

// ManagedClusterSetBindingStatus is the state of a binding.
type ManagedClusterSetBindingStatus struct {
	// `Bound` reports whether the set exists. Placements do not read it: a binding
	// takes effect when the set exists.
	//
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
