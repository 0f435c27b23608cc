package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManifestWork is a list of objects that the agent of one member keeps there.
// Its namespace has the name of the cluster.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
type ManifestWork struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The objects, and how to keep them.
	//
	// +optional
	Spec ManifestWorkSpec `json:"spec,omitzero"`

	// What became of the objects on the member.
	//
	// +optional
	Status ManifestWorkStatus `json:"status,omitzero"`
}

// ManifestWorkList is a list of works.
//
// +kubebuilder:object:root=true
type ManifestWorkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManifestWork `json:"items"`
}

// ManifestWorkStatus is what the agent reports about a work.
type ManifestWorkStatus struct {
	// `Applied`: whether the member has the objects as they are in this work.
	// `Available`: whether the objects exist. `Progressing` and `Degraded`: whether
	// they are still changing, and whether they fail. `Deleting`: whether they are
	// being deleted.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The same for each object.
	//
	// +optional
	ResourceStatus ManifestResourceStatus `json:"resourceStatus,omitzero"`
}

// ManifestResourceStatus is the state of each object of a work.
type ManifestResourceStatus struct {
	// One entry for each object, in the order of the work.
	//
	// +optional
	Manifests []ManifestCondition `json:"manifests,omitempty"`
}

// ManifestCondition is the state of one object.
type ManifestCondition struct {
	// The object.
	//
	// +required
	ResourceMeta ManifestResourceMeta `json:"resourceMeta"`

	// The values that the feedback rules of the work select.
	//
	// +optional
	StatusFeedbacks StatusFeedbackResult `json:"statusFeedback,omitzero"`

	// `Applied`, `Available`, `StatusFeedbackSynced`, and those of the condition
	// rules of the work.
	//
	// +required
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions"`
}

// ManifestResourceMeta identifies an object of a work.
type ManifestResourceMeta struct {
	// Index of the object in the work, from 0.
	//
	// +required
	Ordinal int32 `json:"ordinal"`

	// API group; empty for the core group.
	//
	// +optional
	Group string `json:"group,omitempty"`

	// API version.
	//
	// +optional
	Version string `json:"version,omitempty"`

	// Kind.
	//
	// +optional
	Kind string `json:"kind,omitempty"`

	// Resource: the plural in lower case. Empty while the member does not serve the
	// kind.
	//
	// +optional
	Resource string `json:"resource,omitempty"`

	// Name.
	//
	// +optional
	Name string `json:"name,omitempty"`

	// Namespace; empty for a cluster-scoped object.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// StatusFeedbackResult is the reported values of an object.
type StatusFeedbackResult struct {
	// The values.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Values []FeedbackValue `json:"values,omitempty"`
}

// FeedbackValue is one reported value.
type FeedbackValue struct {
	// Name of the value in the feedback rule.
	//
	// +required
	Name string `json:"name"`

	// The value.
	//
	// +required
	Value FieldValue `json:"fieldValue"`
}

// ValueType is the type of a reported value.
//
// +kubebuilder:validation:Enum=Integer;String;Boolean;JsonRaw
type ValueType string

const (
	// Integer is a 64-bit integer.
	Integer ValueType = "Integer"
	// String is a string.
	String ValueType = "String"
	// Boolean is a boolean.
	Boolean ValueType = "Boolean"
	// JSONRaw is JSON in a string.
	JSONRaw ValueType = "JsonRaw"
)

// FieldValue is a reported value. Only the field of its type is set.
type FieldValue struct {
	// Type of the value.
	//
	// +required
	Type ValueType `json:"type"`

	// Value of type `Integer`.
	//
	// +optional
	Integer *int64 `json:"integer,omitempty"`

	// Value of type `String`.
	//
	// +optional
	String *string `json:"string,omitempty"`

	// Value of type `Boolean`.
	//
	// +optional
	Boolean *bool `json:"boolean,omitempty"`

	// Value of type `JsonRaw`, at most 1024 bytes.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	JSONRaw *string `json:"jsonRaw,omitempty"`
}
