package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// ManagedClusterSet is a named group of clusters, for older clients.
// Its content is that of version v1beta2, in which it is stored.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName={mclset,mclsets}
// +kubebuilder:printcolumn:name="Empty",type=string,JSONPath=`.status.conditions[?(@.type=="ClusterSetEmpty")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedClusterSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which clusters belong to the set and what they keep. Defaults to an
	// exclusive set by the clusterset label.
	//
	// +optional
	// +kubebuilder:default={clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
	Spec clusterv1beta2.ManagedClusterSetSpec `json:"spec,omitzero"`

	// Whether the set has members.
	//
	// +optional
	Status clusterv1beta2.ManagedClusterSetStatus `json:"status,omitzero"`
}

// ManagedClusterSetList is a list of sets.
//
// +kubebuilder:object:root=true
type ManagedClusterSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManagedClusterSet `json:"items"`
}
