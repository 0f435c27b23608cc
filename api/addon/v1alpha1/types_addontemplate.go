package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

// AddOnTemplate is the agent of an add-on: objects for the members, and the
// identities that it needs on the hub. Both served versions have the same
// fields.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="ADDON NAME",type=string,JSONPath=`.spec.addonName`
type AddOnTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The agent.
	//
	// +required
	Spec AddOnTemplateSpec `json:"spec"`
}

// AddOnTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type AddOnTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AddOnTemplate `json:"items"`
}

// AddOnTemplateSpec is the agent of an add-on.
type AddOnTemplateSpec struct {
	// Name of the add-on.
	//
	// +required
	AddonName string `json:"addonName"`

	// Objects of the agent on a member.
	//
	// +required
	AgentSpec workv1.ManifestWorkSpec `json:"agentSpec"`

	// Identities of the agent on the hub.
	//
	// +optional
	Registration []RegistrationSpec `json:"registration,omitempty"`
}

// RegistrationType is the kind of an identity.
//
// +kubebuilder:validation:Enum=KubeClient;CustomSigner
type RegistrationType string

// RegistrationSpec is an identity on the hub.
type RegistrationSpec struct {
	// `KubeClient`: a user of the hub's API server. `CustomSigner`: a certificate
	// of another signer.
	//
	// +required
	Type RegistrationType `json:"type"`

	// Settings of type `KubeClient`.
	//
	// +optional
	KubeClient *KubeClientRegistrationConfig `json:"kubeClient,omitempty"`

	// Settings of type `CustomSigner`.
	//
	// +optional
	CustomSigner *CustomSignerRegistrationConfig `json:"customSigner,omitempty"`
}

// KubeClientRegistrationConfig is a user of the hub's API server.
type KubeClientRegistrationConfig struct {
	// Permissions on the hub.
	//
	// +optional
	HubPermissions []HubPermissionConfig `json:"hubPermissions,omitempty"`
}

// HubPermissionsBindingType is where permissions hold.
//
// +kubebuilder:validation:Enum=CurrentCluster;SingleNamespace
type HubPermissionsBindingType string

// HubPermissionConfig is a permission on the hub.
type HubPermissionConfig struct {
	// `CurrentCluster`: in the namespace of the cluster. `SingleNamespace`: in one
	// namespace.
	//
	// +required
	Type HubPermissionsBindingType `json:"type"`

	// Settings of type `CurrentCluster`.
	//
	// +optional
	CurrentCluster *CurrentClusterBindingConfig `json:"currentCluster,omitempty"`

	// Settings of type `SingleNamespace`.
	//
	// +optional
	SingleNamespace *SingleNamespaceBindingConfig `json:"singleNamespace,omitempty"`
}

// CurrentClusterBindingConfig binds a role in the namespace of the cluster.
type CurrentClusterBindingConfig struct {
	// Name of the ClusterRole.
	//
	// +required
	ClusterRoleName string `json:"clusterRoleName"`
}

// SingleNamespaceBindingConfig binds a role in one namespace.
type SingleNamespaceBindingConfig struct {
	// The namespace.
	//
	// +required
	Namespace string `json:"namespace"`

	// The role.
	//
	// +required
	RoleRef rbacv1.RoleRef `json:"roleRef"`
}

// CustomSignerRegistrationConfig is a certificate of a signer.
type CustomSignerRegistrationConfig struct {
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
	Subject *Subject `json:"subject,omitempty"`

	// The Secret with the signer's key pair.
	//
	// +required
	SigningCA SigningCARef `json:"signingCA"`
}

// SigningCARef names a Secret with a key pair.
type SigningCARef struct {
	// Namespace of the Secret. When absent, that of the add-on's manager.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret.
	//
	// +required
	Name string `json:"name"`
}
