package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ManagedClusterAddOn is an add-on on one cluster. It lives in the namespace
// that bears the cluster's name, under the name of its ClusterManagementAddOn.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,shortName={mca,mcas}
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
type ManagedClusterAddOn struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Where and how the add-on runs.
	//
	// +required
	Spec ManagedClusterAddOnSpec `json:"spec"`

	// What the add-on and its manager report.
	//
	// +optional
	Status ManagedClusterAddOnStatus `json:"status,omitzero"`
}

// ManagedClusterAddOnList is a list of add-ons on clusters.
//
// +kubebuilder:object:root=true
type ManagedClusterAddOnList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManagedClusterAddOn `json:"items"`
}

// ManagedClusterAddOnSpec is where and how an add-on runs on a cluster.
type ManagedClusterAddOnSpec struct {
	// Namespace of the add-on's agent on the member.
	//
	// +optional
	// +kubebuilder:default=open-cluster-management-agent-addon
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	InstallNamespace string `json:"installNamespace,omitempty"`

	// Configurations of this cluster. They replace those of the placement and the
	// default ones.
	//
	// +optional
	Configs []AddOnConfig `json:"configs,omitempty"`
}

// ManagedClusterAddOnStatus is what is reported about an add-on on a cluster.
type ManagedClusterAddOnStatus struct {
	// Namespace of the add-on's agent on the member.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Conditions, such as Available, Degraded and Progressing.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Objects that belong to the add-on.
	//
	// +optional
	RelatedObjects []ObjectReference `json:"relatedObjects,omitempty"`

	// What people read about the add-on.
	//
	// +optional
	AddOnMeta AddOnMeta `json:"addOnMeta,omitzero"`

	// The object that configures the add-on by its own kind.
	//
	// +optional
	AddOnConfiguration ConfigCoordinates `json:"addOnConfiguration,omitzero"`

	// Kinds of configuration that the add-on supports.
	//
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	SupportedConfigs []ConfigGroupResource `json:"supportedConfigs,omitempty"`

	// The configurations in force.
	//
	// +optional
	ConfigReferences []ConfigReference `json:"configReferences,omitempty"`

	// Identities on the hub that the add-on requires.
	//
	// +optional
	Registrations []RegistrationConfig `json:"registrations,omitempty"`

	// How the health of the add-on becomes known.
	//
	// +optional
	HealthCheck HealthCheck `json:"healthCheck,omitzero"`

	// How the add-on proves its identity to the API server of the hub.
	//
	// +optional
	// +kubebuilder:validation:Enum=csr;token
	KubeClientDriver string `json:"kubeClientDriver,omitempty"`
}

// ConfigReference is a configuration of an add-on on a cluster.
type ConfigReference struct {
	ConfigGroupResource `json:",inline"`
	ConfigReferent      `json:",inline"`

	// Generation of the configuration that the add-on has read.
	//
	// +optional
	LastObservedGeneration int64 `json:"lastObservedGeneration,omitempty"`

	// The configuration to reach.
	//
	// +optional
	DesiredConfig *ConfigSpecHash `json:"desiredConfig,omitempty"`

	// The configuration that was applied last.
	//
	// +optional
	LastAppliedConfig *ConfigSpecHash `json:"lastAppliedConfig,omitempty"`
}

// RegistrationConfig is an identity on the hub.
type RegistrationConfig struct {
	// Signer of the certificate, such as `kubernetes.io/kube-apiserver-client`.
	//
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=571
	// +kubebuilder:validation:Pattern=`^([a-z0-9][a-z0-9-]*[a-z0-9]\.)+[a-z]+\/[a-z0-9-\.]+$`
	SignerName string `json:"signerName"`

	// Subject of the certificate.
	//
	// +optional
	Subject Subject `json:"subject,omitzero"`
}

// Subject is the subject of a certificate.
type Subject struct {
	// The user name.
	//
	// +optional
	User string `json:"user,omitempty"`

	// The groups.
	//
	// +optional
	Groups []string `json:"groups,omitempty"`

	// The organization units.
	//
	// +optional
	OrganizationUnits []string `json:"organizationUnit,omitempty"`
}
