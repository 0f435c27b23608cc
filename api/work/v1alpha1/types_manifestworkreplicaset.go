package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
)

// ManifestWorkReplicaSet keeps a ManifestWork in the namespace of each cluster
// that its placements select, and rolls out changes of it.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,shortName=mwrs
// +kubebuilder:printcolumn:name="Placement",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementVerified")].reason`
// +kubebuilder:printcolumn:name="Found",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementVerified")].status`
// +kubebuilder:printcolumn:name="ManifestWorks",type=string,JSONPath=`.status.conditions[?(@.type=="ManifestworkApplied")].reason`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="ManifestworkApplied")].status`
type ManifestWorkReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to deliver, and to which clusters.
	//
	// +optional
	Spec ManifestWorkReplicaSetSpec `json:"spec,omitzero"`

	// How far the delivery is.
	//
	// +optional
	Status ManifestWorkReplicaSetStatus `json:"status,omitzero"`
}

// ManifestWorkReplicaSetList is a list of sets.
//
// +kubebuilder:object:root=true
type ManifestWorkReplicaSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManifestWorkReplicaSet `json:"items"`
}

// CascadeDeletionPolicyType is what a deleted set waits for.
//
// +kubebuilder:validation:Enum=Background;Foreground
type CascadeDeletionPolicyType string

const (
	// Background deletes the works and does not wait for them.
	Background CascadeDeletionPolicyType = "Background"
	// Foreground waits until the works are gone.
	Foreground CascadeDeletionPolicyType = "Foreground"
)

// ManifestWorkReplicaSetSpec is what to deliver, and to which clusters.
type ManifestWorkReplicaSetSpec struct {
	// Spec of the work of each cluster.
	//
	// +optional
	ManifestWorkTemplate workv1.ManifestWorkSpec `json:"manifestWorkTemplate,omitzero"`

	// Placements in the namespace of the set. A cluster that several of them select
	// has one work, and follows the first of them.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	PlacementRefs []LocalPlacementReference `json:"placementRefs"`

	// Whether the deleted set waits until its works are gone (`Foreground`) or only
	// deletes them (`Background`).
	//
	// +required
	// +kubebuilder:default=Background
	CascadeDeletionPolicy CascadeDeletionPolicyType `json:"cascadeDeletionPolicy,omitempty"`

	// Differences of single clusters from the template. They apply in order, so a
	// later override may change what an earlier one wrote. Where one cannot be
	// applied, its cluster keeps the work that it has, and is left out of the rollout.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Overrides []ClusterOverride `json:"overrides,omitempty"`

	// How many templates are kept, to return to: in ControllerRevisions beside the
	// set. The template that is rolled out and that of the last finished rollout
	// stay in any case. When absent, 10. Templates with Secrets are kept in
	// FormerTemplates, and only those two.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// LocalPlacementReference is a placement, and how changes roll out over its
// clusters.
type LocalPlacementReference struct {
	// Name of the placement.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Order and pace of changes.
	//
	// +optional
	// +kubebuilder:default={type: All, all: {progressDeadline: None}}
	RolloutStrategy PlacementRolloutStrategy `json:"rolloutStrategy,omitzero"`
}

// PlacementRolloutStrategy is the strategy of a rollout over one placement. It
// refuses the spelling of the first proposal for sets, which an API server
// would drop in silence: every cluster would then change at once.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rolloutType)",message="rolloutType is not read: write type: Progressive or type: ProgressivePerGroup"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout)",message="timeout is not read: write progressDeadline under all, progressive or progressivePerGroup"
// +kubebuilder:validation:XValidation:rule="!has(self.mandatoryDecisionGroups)",message="mandatoryDecisionGroups is not read here: write it under progressive or progressivePerGroup, as a list of groupName or groupIndex"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type != 'All') || !(has(self.progressive) || has(self.progressivePerGroup))",message="type is All, also when it is absent, which does not read progressive or progressivePerGroup and changes every cluster at once: set type, or remove them"
type PlacementRolloutStrategy struct {
	clusterv1alpha1.RolloutStrategy `json:",inline"`

	// What happens when more clusters fail than maxFailures. `AbortAll`: every cluster
	// that has started returns at once to the template of the last finished
	// rollout. That is not done while that template is not kept, or has another
	// version of a CustomResourceDefinition. When absent, started clusters are left
	// as they are.
	//
	// +optional
	FailureStrategy FailureStrategy `json:"failureStrategy,omitempty"`

	// Not allowed: write `type`.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RolloutType string `json:"rolloutType,omitempty"`

	// Not allowed: write `progressDeadline` under the settings of the type.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Timeout string `json:"timeout,omitempty"`

	// Not allowed: write it under the settings of the type.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	MandatoryDecisionGroups []string `json:"mandatoryDecisionGroups,omitempty"`
}

// FailureStrategy is what happens to a rollout that is breached.
//
// +kubebuilder:validation:Enum=AbortAll
type FailureStrategy string

// AbortAll returns the clusters that have started to the template of the last finished rollout.
const AbortAll FailureStrategy = "AbortAll"

// ManifestWorkReplicaSetStatus is how far a delivery is.
type ManifestWorkReplicaSetStatus struct {
	// `PlacementVerified`: whether the placements exist and decided.
	// `PlacementRolledOut`: whether every selected cluster has the present template
	// and succeeded. `ManifestworkApplied`: whether the works are available.
	// `Progressing`: what the rollout does or waits for. `Served`: present and False
	// while selected clusters run nothing of the set. `FormerTemplateUnkept`: present and
	// True while a template that clusters may have to return to is not stored.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Counts over all placements; each cluster counts once.
	//
	// +optional
	Summary ManifestWorkReplicaSetSummary `json:"summary"`

	// Counts by placement. A cluster counts under the first that selects it.
	//
	// +optional
	PlacementsSummary []PlacementSummary `json:"placementSummary,omitempty"`

	// Hash of the last template whose rollout finished.
	//
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// Hash of the template that is rolled out.
	//
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// When the rollout of the present template was aborted. It is absent again once
	// another template is rolled out.
	//
	// +optional
	AbortedTime *metav1.Time `json:"abortedTime,omitempty"`

	// Generation of the RolloutControl whose decisions have events on the set.
	//
	// +optional
	ControlGeneration int64 `json:"controlGeneration,omitempty"`

	// What the rollout of the present template has shown so far: what was started,
	// what failed or left, and which mandatory groups were passed.
	//
	// +optional
	Rollout *clusterv1alpha1.RolloutRecord `json:"rollout,omitempty"`
}

// PlacementSummary is the counts of one placement.
type PlacementSummary struct {
	// Name of the placement.
	//
	// +optional
	Name string `json:"name,omitempty"`

	// How many decision groups succeeded, and how many clusters have a work, such
	// as `2 (30 / 40 clusters applied)`.
	//
	// +optional
	AvailableDecisionGroups string `json:"availableDecisionGroups,omitempty"`

	// Counts.
	//
	// +optional
	Summary ManifestWorkReplicaSetSummary `json:"summary"`
}

// ManifestWorkReplicaSetSummary counts works.
type ManifestWorkReplicaSetSummary struct {
	// Clusters that are selected.
	//
	// +optional
	DesiredTotal int `json:"desiredTotal"`

	// Works that exist.
	//
	// +optional
	Total int `json:"total"`

	// Works with the present template.
	//
	// +optional
	Updated int `json:"updated"`

	// Works with the present template that are applied.
	//
	// +optional
	Applied int `json:"applied"`

	// Works with the present template whose objects exist.
	//
	// +optional
	Available int `json:"available"`

	// Works with the present template whose objects are changing.
	//
	// +optional
	Progressing int `json:"progressing"`

	// Works with the present template whose objects fail.
	//
	// +optional
	Degraded int `json:"degraded"`
}
