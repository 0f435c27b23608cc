package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppliedManifestWork is the record that an agent keeps on its member of the
// objects of one work. Deleting a record deletes the objects that it owns.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster
type AppliedManifestWork struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The work.
	//
	// +optional
	Spec AppliedManifestWorkSpec `json:"spec,omitzero"`

	// The objects.
	//
	// +optional
	Status AppliedManifestWorkStatus `json:"status,omitzero"`
}

// AppliedManifestWorkList is a list of records.
//
// +kubebuilder:object:root=true
type AppliedManifestWorkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AppliedManifestWork `json:"items"`
}

// AppliedManifestWorkSpec identifies a work.
type AppliedManifestWorkSpec struct {
	// SHA-256 of the hub's URL, in hex.
	//
	// +required
	HubHash string `json:"hubHash"`

	// Identity of the agent that keeps this record.
	//
	// +optional
	AgentID string `json:"agentID,omitempty"`

	// Name of the work.
	//
	// +required
	ManifestWorkName string `json:"manifestWorkName"`
}

// AppliedManifestWorkStatus lists the objects of a work on the member.
type AppliedManifestWorkStatus struct {
	// The objects, each listed before it is created.
	//
	// +optional
	AppliedResources []AppliedManifestResourceMeta `json:"appliedResources,omitempty"`

	// Since when the hub has not had the work. When absent, it has it.
	//
	// +optional
	EvictionStartTime *metav1.Time `json:"evictionStartTime,omitempty"`
}

// AppliedManifestResourceMeta identifies an object on the member.
type AppliedManifestResourceMeta struct {
	ResourceIdentifier `json:",inline"`

	// API version.
	//
	// +required
	Version string `json:"version"`

	// UID of the object. Empty until the object was read for the first time.
	//
	// +optional
	UID string `json:"uid,omitempty"`

	// Whether the object was there before the work. Such an object stays when the
	// work goes.
	//
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// Hash of the manifest that was applied last.
	//
	// +optional
	ManifestHash string `json:"manifestHash,omitempty"`

	// Hash of the names of the fields that the agent managed after it.
	//
	// +optional
	FieldsHash string `json:"fieldsHash,omitempty"`

	// Whether the object ran to its end, as a Job does. It is not created again
	// until its manifest changes.
	//
	// +optional
	Completed bool `json:"completed,omitempty"`
}
