package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterProperty is one property of the cluster that stores it. The agent reports it to the hub, in
// status.clusterClaims of the ManagedCluster. It wins over a ClusterClaim of the same name.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=clusterproperties,categories=multicluster
// +kubebuilder:printcolumn:name=value,type=string,JSONPath=`.spec.value`
// +kubebuilder:printcolumn:name=age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes/enhancements/pull/3084"
type ClusterProperty struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The value of the property. The name of the object is the name of the property.
	//
	// +optional
	Spec ClusterPropertySpec `json:"spec,omitzero"`

	// Reserved and never written.
	//
	// +optional
	Status ClusterPropertyStatus `json:"status,omitzero"`
}

// ClusterPropertyList is a list of properties.
//
// +kubebuilder:object:root=true
type ClusterPropertyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterProperty `json:"items"`
}

// ClusterPropertySpec holds the value of a property.
type ClusterPropertySpec struct {
	// The value. The agent reports values of up to 1024 characters and leaves out longer ones.
	//
	// +kubebuilder:validation:MinLength=1
	Value string `json:"value"`
}

// ClusterPropertyStatus is empty.
type ClusterPropertyStatus struct{}
