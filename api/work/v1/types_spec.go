package v1

import "k8s.io/apimachinery/pkg/runtime"

// ManifestWorkSpec is what to create on a member, and how to keep it.
type ManifestWorkSpec struct {
	// The objects to create on the member.
	//
	// +optional
	Workload ManifestsTemplate `json:"workload,omitzero"`

	// What happens to the objects when the work is deleted. When absent, they are
	// deleted.
	//
	// +optional
	DeleteOption *DeleteOption `json:"deleteOption,omitempty"`

	// Settings of single objects. Those of the first entry that matches an object
	// and has the setting count.
	//
	// +optional
	ManifestConfigs []ManifestConfigOption `json:"manifestConfigs,omitempty"`

	// The identity with which the agent writes the objects. When absent, it is the
	// agent's own.
	//
	// +optional
	Executor *ManifestWorkExecutor `json:"executor,omitempty"`
}

// ManifestsTemplate is a list of objects.
type ManifestsTemplate struct {
	// The objects, each with apiVersion, kind and metadata.name.
	//
	// +optional
	Manifests []Manifest `json:"manifests,omitempty"`
}

// Manifest is one object of any kind.
type Manifest struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	runtime.RawExtension `json:",inline"`
}

// DeletePropagationPolicyType is what happens to the objects of a deleted work.
//
// +kubebuilder:validation:Enum=Foreground;Orphan;SelectivelyOrphan
type DeletePropagationPolicyType string

const (
	// DeletePropagationPolicyTypeForeground deletes the objects before the work.
	DeletePropagationPolicyTypeForeground DeletePropagationPolicyType = "Foreground"
	// DeletePropagationPolicyTypeOrphan keeps all objects.
	DeletePropagationPolicyTypeOrphan DeletePropagationPolicyType = "Orphan"
	// DeletePropagationPolicyTypeSelectivelyOrphan keeps the objects of the orphaning rules.
	DeletePropagationPolicyTypeSelectivelyOrphan DeletePropagationPolicyType = "SelectivelyOrphan"
)

// DeleteOption is what happens to the objects of a deleted or completed work.
type DeleteOption struct {
	// `Foreground` deletes the objects, `Orphan` keeps them, `SelectivelyOrphan`
	// keeps those of the orphaning rules.
	//
	// +optional
	// +kubebuilder:default=Foreground
	PropagationPolicy DeletePropagationPolicyType `json:"propagationPolicy,omitempty"`

	// The objects that `SelectivelyOrphan` keeps.
	//
	// +optional
	SelectivelyOrphan *SelectivelyOrphan `json:"selectivelyOrphans,omitempty"`

	// How many seconds after its completion the work is deleted. When absent, it
	// stays.
	//
	// +optional
	TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished,omitempty"`
}

// SelectivelyOrphan lists objects that stay on the member.
type SelectivelyOrphan struct {
	// The objects, each by its exact identity.
	//
	// +optional
	OrphaningRules []OrphaningRule `json:"orphaningRules,omitempty"`
}

// OrphaningRule identifies one object.
type OrphaningRule struct {
	// API group of the object; empty for the core group.
	//
	// +optional
	Group string `json:"group,omitempty"`

	// Resource of the object: the plural in lower case, such as `namespaces`.
	//
	// +required
	Resource string `json:"resource"`

	// Namespace of the object; empty for a cluster-scoped object.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	//
	// +required
	Name string `json:"name"`
}

// ManifestWorkExecutor is the identity with which an agent writes.
type ManifestWorkExecutor struct {
	// The identity.
	//
	// +optional
	Subject ManifestWorkExecutorSubject `json:"subject,omitzero"`
}

// ManifestWorkExecutorSubjectType is the kind of an identity.
//
// +kubebuilder:validation:Enum=ServiceAccount
type ManifestWorkExecutorSubjectType string

// ExecutorSubjectTypeServiceAccount is a service account of the member.
const ExecutorSubjectTypeServiceAccount ManifestWorkExecutorSubjectType = "ServiceAccount"

// ManifestWorkExecutorSubject is an identity on the member.
type ManifestWorkExecutorSubject struct {
	// Kind of the identity.
	//
	// +required
	Type ManifestWorkExecutorSubjectType `json:"type"`

	// The service account, for type `ServiceAccount`.
	//
	// +optional
	ServiceAccount *ManifestWorkSubjectServiceAccount `json:"serviceAccount,omitempty"`
}

// ManifestWorkSubjectServiceAccount names a service account of the member.
type ManifestWorkSubjectServiceAccount struct {
	// Namespace of the service account.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$`
	Namespace string `json:"namespace"`

	// Name of the service account.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$`
	Name string `json:"name"`
}
