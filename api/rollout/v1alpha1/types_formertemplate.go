package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FormerTemplate is a template with a Secret that a ManifestWorkReplicaSet has or had.
// Clusters return to it, or run it while they wait for their turn. A set has two at
// most: that of the last finished rollout, and the present one. The manager alone reads
// and writes them: no role for users permits it, since they hold Secrets. Templates
// without a Secret are in ControllerRevisions.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.revision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FormerTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The template as JSON, compressed by gzip.
	//
	// +required
	Template []byte `json:"template"`

	// Number of the template, as `kubectl berth rollout history` lists it. A template
	// that returns gets the next number.
	//
	// +required
	Revision int64 `json:"revision"`
}

// FormerTemplateList is a list of FormerTemplates.
//
// +kubebuilder:object:root=true
type FormerTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FormerTemplate `json:"items"`
}
