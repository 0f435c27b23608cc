package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
)

// ManagedClusterAddOn is an add-on on one cluster. It lives in the namespace
// that bears the cluster's name, under the name of its ClusterManagementAddOn.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
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
	// Configurations of this cluster. They replace those of the placement and the
	// default ones.
	//
	// +optional
	Configs []addonv1alpha1.AddOnConfig `json:"configs,omitempty"`
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
	RelatedObjects []addonv1alpha1.ObjectReference `json:"relatedObjects,omitempty"`

	// What people read about the add-on.
	//
	// +optional
	AddOnMeta addonv1alpha1.AddOnMeta `json:"addOnMeta,omitzero"`

	// Kinds of configuration that the add-on supports.
	//
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	SupportedConfigs []addonv1alpha1.ConfigGroupResource `json:"supportedConfigs,omitempty"`

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
	HealthCheck addonv1alpha1.HealthCheck `json:"healthCheck,omitzero"`
}

// ConfigReference is a configuration of an add-on on a cluster.
type ConfigReference struct {
	addonv1alpha1.ConfigGroupResource `json:",inline"`

	// Generation of the configuration that the add-on has read.
	//
	// +optional
	LastObservedGeneration int64 `json:"lastObservedGeneration,omitempty"`

	// The configuration to reach.
	//
	// +optional
	DesiredConfig *addonv1alpha1.ConfigSpecHash `json:"desiredConfig,omitempty"`

	// The configuration that was applied last.
	//
	// +optional
	LastAppliedConfig *addonv1alpha1.ConfigSpecHash `json:"lastAppliedConfig,omitempty"`
}

// RegistrationType is the kind of an identity.
//
// +kubebuilder:validation:Enum=kubeClient;customSigner
type RegistrationType string

const (
	// KubeClient is a user of the hub's API server.
	KubeClient RegistrationType = "kubeClient"
	// CustomSigner is a certificate of another signer.
	CustomSigner RegistrationType = "customSigner"
)

// RegistrationConfig is an identity on the hub.
type RegistrationConfig struct {
	// `kubeClient`: a user of the hub's API server. `customSigner`: a certificate
	// of another signer.
	//
	// +required
	Type RegistrationType `json:"type"`

	// Settings of type `kubeClient`.
	//
	// +optional
	KubeClient *KubeClientConfig `json:"kubeClient,omitempty"`

	// Settings of type `customSigner`.
	//
	// +optional
	CustomSigner *CustomSignerConfig `json:"customSigner,omitempty"`
}

// KubeClientConfig is a user of the hub's API server.
type KubeClientConfig struct {
	// The user and its groups.
	//
	// +optional
	Subject KubeClientSubject `json:"subject,omitzero"`

	// How the add-on proves its identity.
	//
	// +optional
	// +kubebuilder:validation:Enum=csr;token
	Driver string `json:"driver,omitempty"`
}

// KubeClientSubject is a user and its groups.
type KubeClientSubject struct {
	// The user name.
	//
	// +optional
	User string `json:"user,omitempty"`

	// The groups.
	//
	// +optional
	Groups []string `json:"groups,omitempty"`
}

// CustomSignerConfig is a certificate of a signer.
type CustomSignerConfig struct {
	// The signer.
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
	OrganizationUnits []string `json:"organizationUnits,omitempty"`
}
