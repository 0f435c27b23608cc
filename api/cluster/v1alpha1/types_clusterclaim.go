package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterClaim is one property of the cluster that stores it. The agent reports it to the hub, in
// status.clusterClaims of the ManagedCluster, unless it has the label
// open-cluster-management.io/spoke-only. Placements select clusters by it.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster
type ClusterClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The value of the property. The name of the object is the name of the property.
	//
	// +optional
	Spec ClusterClaimSpec `json:"spec,omitzero"`
}

// ClusterClaimList is a list of claims.
//
// +kubebuilder:object:root=true
type ClusterClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterClaim `json:"items"`
}

// ClusterClaimSpec holds the value of a claim.
type ClusterClaimSpec struct {
	// The value, of 1 to 1024 characters.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}
