package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterProfile is one cluster in an inventory: its health, its version, what
// it reports about itself, and how to reach it. A cluster manager writes it, in
// each namespace that may use the cluster. Other tools read it, whichever
// product manages the cluster.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Manager",type=string,JSONPath=`.spec.clusterManager.name`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="ControlPlaneHealthy")].status`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version.kubernetes`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which cluster this is, and what manages it.
	//
	// +required
	Spec ClusterProfileSpec `json:"spec"`

	// What was last observed of the cluster. The cluster manager writes it.
	//
	// +optional
	Status ClusterProfileStatus `json:"status,omitzero"`
}

// ClusterProfileList is a list of profiles.
//
// +kubebuilder:object:root=true
type ClusterProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterProfile `json:"items"`
}

// ClusterProfileSpec names a cluster and its manager.
type ClusterProfileSpec struct {
	// Name of the cluster to show to people. It need not be unique.
	//
	// +optional
	DisplayName string `json:"displayName,omitempty"`

	// The product that writes this profile. It cannot be changed: a cluster that
	// changes its manager gets another profile.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the cluster manager of a profile cannot be changed"
	ClusterManager ClusterManager `json:"clusterManager"`
}

// ClusterManager is a product that manages clusters.
type ClusterManager struct {
	// Name of the cluster manager. The label `x-k8s.io/cluster-manager` has the
	// same name, so that the profiles of one manager can be selected.
	//
	// +required
	Name string `json:"name"`
}

// ClusterProfileStatus is what was last observed of a cluster.
type ClusterProfileStatus struct {
	// Whether the API server of the cluster answers (`ControlPlaneHealthy`),
	// whether its agent has joined (`Joined`), and whether the properties lack
	// something that the cluster reports (`PropertiesOmitted`).
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Versions of the software that runs the cluster.
	//
	// +optional
	Version ClusterVersion `json:"version,omitzero"`

	// What the cluster reports about itself, by name.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Properties []Property `json:"properties,omitempty"`

	// Ways to reach the API server of the cluster. Each has an address and no
	// credential: a reader gets one from the plugin that it has configured for the
	// name of the provider.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	AccessProviders []AccessProvider `json:"accessProviders,omitempty"`

	// Former name of accessProviders. It is not read where both are present.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	CredentialProviders []AccessProvider `json:"credentialProviders,omitempty"`
}

// ClusterVersion names the versions of the software of a cluster.
type ClusterVersion struct {
	// Version of the Kubernetes API server, such as `v1.36.3`.
	//
	// +optional
	Kubernetes string `json:"kubernetes,omitempty"`
}

// Property is one fact about a cluster.
type Property struct {
	// Name of the property, unique in the profile; 1 to 253 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Value of the property; 1 to 1024 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`

	// When this value was first observed. It stays while the value stays.
	//
	// +optional
	LastObservedTime metav1.Time `json:"lastObservedTime,omitzero"`
}

// AccessProvider is one way to reach a cluster.
type AccessProvider struct {
	// Name of the provider. A reader has a plugin for it that yields credentials.
	//
	// +required
	Name string `json:"name"`

	// The API server, in the form of a cluster in a kubeconfig.
	//
	// +optional
	Cluster ClusterEndpoint `json:"cluster,omitzero"`
}

// ClusterEndpoint is the address of an API server, in the form of a cluster in
// a kubeconfig.
type ClusterEndpoint struct {
	// URL of the API server.
	//
	// +required
	Server string `json:"server"`

	// Name that the certificate of the server must be valid for; the host of the
	// URL when absent.
	//
	// +optional
	TLSServerName string `json:"tls-server-name,omitempty"`

	// Whether the certificate of the server is not checked. That lets other
	// servers read the requests.
	//
	// +optional
	InsecureSkipTLSVerify bool `json:"insecure-skip-tls-verify,omitempty"`

	// Path of a file with the certificates that sign that of the server, on the
	// machine of the reader.
	//
	// +optional
	CertificateAuthority string `json:"certificate-authority,omitempty"`

	// PEM certificates that sign that of the server. The roots of the system count
	// when absent.
	//
	// +optional
	CertificateAuthorityData []byte `json:"certificate-authority-data,omitempty"`

	// URL of a proxy for all requests to the server.
	//
	// +optional
	ProxyURL string `json:"proxy-url,omitempty"`

	// Whether responses are sent without compression.
	//
	// +optional
	DisableCompression bool `json:"disable-compression,omitempty"`

	// Further data for plugins, by name.
	//
	// +optional
	Extensions []NamedExtension `json:"extensions,omitempty"`
}

// NamedExtension is data for one plugin.
type NamedExtension struct {
	// Name of the extension.
	//
	// +required
	Name string `json:"name"`

	// The data: any object.
	//
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	Extension runtime.RawExtension `json:"extension"`
}
