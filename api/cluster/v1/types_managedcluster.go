package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagedCluster is one cluster of the fleet as the hub sees it: whether it
// may join, how to reach it, what it has, how healthy it is, and which
// placements it repels. The object's name is the cluster's name everywhere,
// including in placement decisions and as the name of the cluster's own
// namespace on the hub.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster,shortName={mcl,mcls}
// +kubebuilder:printcolumn:name="Hub Accepted",type=boolean,JSONPath=`.spec.hubAcceptsClient`
// +kubebuilder:printcolumn:name="Managed Cluster URLs",type=string,JSONPath=`.spec.managedClusterClientConfigs[*].url`
// +kubebuilder:printcolumn:name="Joined",type=string,JSONPath=`.status.conditions[?(@.type=="ManagedClusterJoined")].status`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the administrators of the hub want of this cluster.
	//
	// +optional
	Spec ManagedClusterSpec `json:"spec"`

	// What was last observed of this cluster.
	//
	// +optional
	Status ManagedClusterStatus `json:"status,omitzero"`
}

// ManagedClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ManagedClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManagedCluster `json:"items"`
}

// ManagedClusterSpec is what the administrators of the hub want of a cluster.
type ManagedClusterSpec struct {
	// Addresses of the cluster's API server, for components on the hub that talk
	// to it. Placements do not read them. Every URL must be https.
	//
	// +optional
	ManagedClusterClientConfigs []ClientConfig `json:"managedClusterClientConfigs,omitempty"`

	// Whether the hub lets this cluster in. Defaults to false. Turning it on needs
	// the `accept` permission on the cluster and gives its agent access to the
	// cluster's namespace; turning it off takes that access away. A cluster that was
	// accepted and has not reported yet is tainted unreachable. A cluster that no
	// agent has ever reported is tainted only on a hub that taints clusters that
	// have not joined.
	//
	// +optional
	HubAcceptsClient bool `json:"hubAcceptsClient"`

	// How often, in seconds, the cluster's agent renews its lease on the hub.
	// Defaults to 60. The hub waits for five such periods before it reports the
	// cluster as unreachable, so a larger value means fewer writes and slower
	// detection. 0 or less is read as 60, and more than 3600 as 3600.
	//
	// +optional
	// +kubebuilder:default=60
	LeaseDurationSeconds int32 `json:"leaseDurationSeconds,omitempty"`

	// Marks that keep placements away from this cluster unless they tolerate them.
	// Adding a NoSelect taint removes the cluster from the decisions of every
	// placement that does not tolerate it. The hub itself adds and removes the
	// taints `cluster.open-cluster-management.io/unreachable` and
	// `cluster.open-cluster-management.io/unavailable`.
	//
	// +optional
	Taints []Taint `json:"taints,omitempty"`
}

// ClientConfig describes how to reach a cluster's API server.
type ClientConfig struct {
	// Address of the API server, starting with `https://`. It may hold a path when
	// the server sits behind a proxy.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') || self.startsWith('HTTPS://')",message="must be an https URL"
	URL string `json:"url"`

	// PEM certificates that sign the API server's certificate. When empty, the
	// system's own roots are used.
	//
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
}

// TaintEffect is what a taint does to placements that do not tolerate it.
//
// +kubebuilder:validation:Enum=NoSelect;PreferNoSelect;NoSelectIfNew
type TaintEffect string

const (
	// TaintEffectNoSelect keeps the cluster from being selected, and removes it
	// where it already is.
	TaintEffectNoSelect TaintEffect = "NoSelect"
	// TaintEffectPreferNoSelect ranks the cluster after all clusters without such
	// a taint, whatever their scores.
	TaintEffectPreferNoSelect TaintEffect = "PreferNoSelect"
	// TaintEffectNoSelectIfNew keeps the cluster from being newly selected; a
	// placement that has it keeps it.
	TaintEffectNoSelectIfNew TaintEffect = "NoSelectIfNew"
)

// Taint repels placements that do not tolerate it.
type Taint struct {
	// Name of the taint: a qualified name such as `example.com/maintenance`, at
	// most 316 characters.
	//
	// +required
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Key string `json:"key"`

	// Value of the taint, which tolerations with operator Equal compare. Empty by
	// default; at most 1024 characters.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`

	// What happens to a placement that does not tolerate the taint. `NoSelect`:
	// the cluster is not selected, and is removed where it already is.
	// `PreferNoSelect`: the cluster ranks after all others, whatever their scores.
	// `NoSelectIfNew`: the cluster is not newly selected, and stays where it
	// already is.
	//
	// +required
	Effect TaintEffect `json:"effect"`

	// When the taint was put on, from which a toleration's tolerationSeconds count.
	// Set by the hub when the taint appears or changes; only holders of the `taint`
	// permission may set it themselves. Null is read as now.
	//
	// +optional
	// +nullable
	TimeAdded metav1.Time `json:"timeAdded"`
}

// ManagedClusterStatus is what was last observed of a cluster.
type ManagedClusterStatus struct {
	// Whether the cluster is accepted (`HubAcceptedManagedCluster`), joined
	// (`ManagedClusterJoined`), healthy (`ManagedClusterConditionAvailable`) and
	// whether its clock matches the clock of the hub
	// (`ManagedClusterConditionClockSynced`).
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Total resources of all nodes, by resource name.
	//
	// +optional
	Capacity ResourceList `json:"capacity,omitempty"`

	// Resources that the schedulable nodes offer to pods, by resource name. What
	// running pods request is not subtracted, so this is not free capacity. The
	// prioritizers ResourceAllocatableCPU and ResourceAllocatableMemory compare
	// it.
	//
	// +optional
	Allocatable ResourceList `json:"allocatable,omitempty"`

	// Versions of the software that runs the cluster.
	//
	// +optional
	Version ManagedClusterVersion `json:"version,omitzero"`

	// Facts that the cluster reports about itself, such as its platform, product
	// or region. The claimSelector of a placement and the topology keys of type
	// Claim read them.
	//
	// +optional
	ClusterClaims []ManagedClusterClaim `json:"clusterClaims,omitempty"`

	// Namespaces that the sets of the cluster require on it, with their state there.
	//
	// +optional
	// +listType=map
	// +listMapKey=clusterSet
	// +listMapKey=name
	ManagedNamespaces []ClusterSetManagedNamespaceConfig `json:"managedNamespaces,omitempty"`
}

// ManagedClusterVersion names the versions of a cluster's software.
type ManagedClusterVersion struct {
	// Version of the cluster's Kubernetes API server, such as `v1.36.3`.
	//
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`
}

// ManagedClusterClaim is one fact that a cluster reports about itself.
type ManagedClusterClaim struct {
	// Name of the claim, unique in the cluster; 1 to 253 characters.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Value of the claim; 1 to 1024 characters of any kind. It need not be a valid
	// label value.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// ManagedNamespaceConfig names a namespace that clusters keep.
type ManagedNamespaceConfig struct {
	// Name of the namespace on the managed cluster; at most 63 characters.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ClusterSetManagedNamespaceConfig is a namespace that a set requires on a
// cluster, with its state there.
type ClusterSetManagedNamespaceConfig struct {
	ManagedNamespaceConfig `json:",inline"`

	// Name of the set that requires the namespace.
	//
	// +required
	ClusterSet string `json:"clusterSet"`

	// State of the namespace on the cluster.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceName names a resource, as core Kubernetes does: `cpu`, `memory`,
// `example.com/gpu`.
type ResourceName string

const (
	// ResourceCPU is processor time, in cores.
	ResourceCPU = ResourceName(corev1.ResourceCPU)
	// ResourceMemory is memory, in bytes.
	ResourceMemory = ResourceName(corev1.ResourceMemory)
)

// ResourceList is an amount for each resource name.
type ResourceList map[ResourceName]resource.Quantity
