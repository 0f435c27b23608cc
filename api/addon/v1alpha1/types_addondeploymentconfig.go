package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddOnDeploymentConfig is how the agent of an add-on runs on a member. Both
// served versions have the same fields.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
type AddOnDeploymentConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The configuration.
	//
	// +required
	Spec AddOnDeploymentConfigSpec `json:"spec"`
}

// AddOnDeploymentConfigList is a list of configurations.
//
// +kubebuilder:object:root=true
type AddOnDeploymentConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AddOnDeploymentConfig `json:"items"`
}

// AddOnDeploymentConfigSpec is how the agent of an add-on runs.
type AddOnDeploymentConfigSpec struct {
	// Variables for the templates of the add-on.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	CustomizedVariables []CustomizedVariable `json:"customizedVariables,omitempty"`

	// On which nodes the agent runs.
	//
	// +optional
	NodePlacement *NodePlacement `json:"nodePlacement,omitempty"`

	// Registries whose images are read from a mirror.
	//
	// +optional
	Registries []ImageMirror `json:"registries,omitempty"`

	// The proxy between the member and the hub.
	//
	// +optional
	ProxyConfig ProxyConfig `json:"proxyConfig,omitzero"`

	// Namespace of the agent on the member. Empty leaves the choice to the add-on.
	//
	// +optional
	// +kubebuilder:default=open-cluster-management-agent-addon
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	AgentInstallNamespace string `json:"agentInstallNamespace,omitempty"`

	// Resources of containers.
	//
	// +optional
	// +listType=map
	// +listMapKey=containerID
	ResourceRequirements []ContainerResourceRequirements `json:"resourceRequirements,omitempty"`
}

// CustomizedVariable is a variable for templates.
type CustomizedVariable struct {
	// Name of the variable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][_a-zA-Z0-9]*$`
	Name string `json:"name"`

	// Value of the variable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// NodePlacement selects nodes.
type NodePlacement struct {
	// Labels that a node must have.
	//
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Taints that the agent tolerates.
	//
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// ImageMirror replaces the beginning of image names.
type ImageMirror struct {
	// Where images are read from.
	//
	// +required
	Mirror string `json:"mirror"`

	// Beginning of the names that are replaced. When absent, all.
	//
	// +optional
	Source string `json:"source,omitempty"`
}

// ProxyConfig is a proxy between a member and the hub.
type ProxyConfig struct {
	// URL of the proxy for http.
	//
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`

	// URL of the proxy for https.
	//
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`

	// CA certificates of the proxy, PEM.
	//
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`

	// Hosts without proxy, separated by commas.
	//
	// +optional
	NoProxy string `json:"noProxy,omitempty"`
}

// ContainerResourceRequirements is the resources of containers.
type ContainerResourceRequirements struct {
	// The containers: `<resource>:<name of the object>:<name of the container>`, each part may be `*`.
	//
	// +required
	// +kubebuilder:validation:Pattern=`^(deployments|daemonsets|statefulsets|replicasets|jobs|cronjobs|pods|\*):.+:.+$`
	ContainerID string `json:"containerID"`

	// Their requests and limits.
	//
	// +required
	Resources corev1.ResourceRequirements `json:"resources"`
}
