package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// ManagedClusterSet is a named group of clusters. Sets are the unit of access:
// a namespace can place workloads only on clusters of the sets that are bound
// to it with a ManagedClusterSetBinding. Deleting a set deletes no cluster,
// but its members leave the decisions of every placement that had them through
// this set.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
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
	Spec ManagedClusterSetSpec `json:"spec,omitzero"`

	// Whether the set has members.
	//
	// +optional
	Status ManagedClusterSetStatus `json:"status,omitzero"`
}

// ManagedClusterSetList is a list of sets.
//
// +kubebuilder:object:root=true
type ManagedClusterSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManagedClusterSet `json:"items"`
}

// ManagedClusterSetSpec is which clusters belong to a set and what they keep.
type ManagedClusterSetSpec struct {
	// Which clusters belong to the set. Defaults to those that carry the label
	// `cluster.open-cluster-management.io/clusterset` with the set's name.
	// Changing it changes membership at once, and with it the decisions of
	// placements that choose from the set. A change by which every member would
	// leave is held: the members stay, by `status.clusterSelector`.
	//
	// +optional
	// +kubebuilder:default={selectorType: ExclusiveClusterSetLabel}
	ClusterSelector ManagedClusterSelector `json:"clusterSelector,omitzero"`

	// Namespaces that every member keeps, for agents that create them. Placements
	// do not read them.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	ManagedNamespaces []clusterv1.ManagedNamespaceConfig `json:"managedNamespaces,omitempty"`
}

// SelectorType is the way in which a set picks its members.
//
// +kubebuilder:validation:Enum=ExclusiveClusterSetLabel;LabelSelector;ExclusiveLabel
type SelectorType string

const (
	// ExclusiveClusterSetLabel picks the clusters whose clusterset label holds the
	// set's name.
	ExclusiveClusterSetLabel SelectorType = "ExclusiveClusterSetLabel"
	// LabelSelector picks the clusters whose labels match a selector; sets of this
	// type may overlap.
	LabelSelector SelectorType = "LabelSelector"
	// ExclusiveLabel picks the clusters that carry one given label with one given
	// value.
	ExclusiveLabel SelectorType = "ExclusiveLabel"
)

// ManagedClusterSelector picks the members of a set.
//
// +kubebuilder:validation:XValidation:rule="!has(self.selectorType) || self.selectorType != 'ExclusiveLabel' || has(self.exclusiveLabel)",message="exclusiveLabel is required when selectorType is ExclusiveLabel"
type ManagedClusterSelector struct {
	// How members are picked. `ExclusiveClusterSetLabel`, the default: the
	// cluster's label `cluster.open-cluster-management.io/clusterset` holds this
	// set's name, so that a cluster is in at most one such set. `LabelSelector`:
	// the cluster's labels match labelSelector; such sets may overlap with any
	// other. `ExclusiveLabel`: the cluster carries exclusiveLabel, so that it is
	// in at most one set for each label key.
	//
	// +optional
	// +kubebuilder:default=ExclusiveClusterSetLabel
	SelectorType SelectorType `json:"selectorType,omitempty"`

	// Labels of the members, for type LabelSelector; ignored for other types. When
	// absent nothing matches; `{}` matches every cluster.
	//
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Label of the members, for type ExclusiveLabel; ignored for other types. No
	// two sets may name the same key and value.
	//
	// +optional
	ExclusiveLabel *ExclusiveLabelSelector `json:"exclusiveLabel,omitempty"`
}

// ExclusiveLabelSelector is a label that makes a cluster a member. A cluster
// has one value for a key, hence is in at most one of the sets that share the
// key.
type ExclusiveLabelSelector struct {
	// Key of the label. It must start with `cluster.open-cluster-management.io/`
	// or `info.open-cluster-management.io/`, the prefixes that only permitted
	// users may put on a cluster.
	//
	// +required
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^(cluster|info)\.open-cluster-management\.io/([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`
	Key string `json:"key"`

	// Value of the label; 1 to 63 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Value string `json:"value"`
}

// ManagedClusterSetStatus is the state of a set.
type ManagedClusterSetStatus struct {
	// `ClusterSetEmpty` reports whether the set has no member; its message counts
	// them. Members that are being deleted, not accepted or tainted are counted too.
	// `Conflict` is True while another set claims the same exclusive label.
	// `HealthSuspended`, on the set `global` alone, is True while so many clusters
	// are silent that the hub is the probable cause. `SelectorHeld` is True while
	// the selector of the spec would take every member away: they stay.
	//
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The selector that decides which clusters belong to the set: that of the
	// spec, or while `SelectorHeld` is True the one before. Absent until a manager
	// has read the set; then the selector of the spec decides.
	//
	// +optional
	ClusterSelector *ManagedClusterSelector `json:"clusterSelector,omitempty"`
}
