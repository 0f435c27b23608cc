package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutType is how a change is brought to the clusters of a placement.
//
// +kubebuilder:validation:Enum=All;Progressive;ProgressivePerGroup
type RolloutType string

const (
	// All starts every cluster at once.
	All RolloutType = "All"
	// Progressive starts a cluster whenever one of a limited number of places is free.
	Progressive RolloutType = "Progressive"
	// ProgressivePerGroup starts a decision group whenever the one before it is done.
	ProgressivePerGroup RolloutType = "ProgressivePerGroup"
)

// RolloutStrategy is the order and the pace in which a change reaches the
// clusters of a placement. Objects that roll out a change embed it.
type RolloutStrategy struct {
	// `All`: every cluster at once. `Progressive`: cluster by cluster, at most
	// maxConcurrency at a time. `ProgressivePerGroup`: decision group by decision
	// group.
	//
	// +optional
	// +kubebuilder:default=All
	Type RolloutType `json:"type,omitempty"`

	// Settings of type `All`; other types do not read them.
	//
	// +optional
	All *RolloutAll `json:"all,omitempty"`

	// Settings of type `Progressive`; other types do not read them.
	//
	// +optional
	Progressive *RolloutProgressive `json:"progressive,omitempty"`

	// Settings of type `ProgressivePerGroup`; other types do not read them.
	//
	// +optional
	ProgressivePerGroup *RolloutProgressivePerGroup `json:"progressivePerGroup,omitempty"`

	// While true, no further cluster is started. Started clusters continue, and
	// their deadlines run.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Decision groups that start only after approval. When absent, no group waits
	// for approval.
	//
	// +optional
	Approval *RolloutApproval `json:"approval,omitempty"`
}

// RolloutAll is the settings of type `All`.
type RolloutAll struct {
	RolloutConfig `json:",inline"`
}

// RolloutProgressive is the settings of type `Progressive`.
type RolloutProgressive struct {
	RolloutConfig           `json:",inline"`
	MandatoryDecisionGroups `json:",inline"`

	// How many clusters may be under way at a time: a number, or a percentage of
	// the clusters outside the mandatory groups (of all, where there are no
	// others), rounded up. More than there are clusters counts as all of them.
	// When absent or 0, it is the clustersPerDecisionGroup of the placement.
	//
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	MaxConcurrency intstr.IntOrString `json:"maxConcurrency,omitzero"`
}

// RolloutProgressivePerGroup is the settings of type `ProgressivePerGroup`.
type RolloutProgressivePerGroup struct {
	RolloutConfig           `json:",inline"`
	MandatoryDecisionGroups `json:",inline"`
}

// RolloutConfig is what all types have in common.
type RolloutConfig struct {
	// How long a cluster is watched after it succeeded before it counts as done,
	// such as `5m`. Type `All` does not wait.
	//
	// +optional
	// +kubebuilder:default="0"
	MinSuccessTime metav1.Duration `json:"minSuccessTime,omitzero"`

	// How long a cluster may be under way or failed before it counts as timed out,
	// such as `30m` or `1h30m`. `None` sets no deadline.
	//
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Pattern=`^(([0-9])+[h|m|s])|None$`
	ProgressDeadline string `json:"progressDeadline,omitempty"`

	// How many clusters may fail or time out before the rollout starts no more
	// clusters: a number, or a percentage rounded up. A percentage is of all
	// clusters with `Progressive`, and of the clusters of each group with
	// `ProgressivePerGroup`. A number above the number of clusters counts as
	// all of them. Type `All` starts every cluster at once: there it decides
	// whether the rollout has failed.
	//
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	MaxFailures intstr.IntOrString `json:"maxFailures,omitzero"`
}

// MandatoryDecisionGroups names the decision groups that come first.
type MandatoryDecisionGroups struct {
	// Groups that are rolled out before all others, one after the other in this
	// order. Each must be done without a failure before anything further is started,
	// regardless of maxFailures. A delivery waits for a person where the placement
	// does not have the group, or where none of its clusters succeeded.
	//
	// +optional
	MandatoryDecisionGroups []MandatoryDecisionGroup `json:"mandatoryDecisionGroups,omitempty"`
}

// MandatoryDecisionGroup points to decision groups by name or by index.
type MandatoryDecisionGroup struct {
	// Name of the groups: all groups with this name, by index. When set, the index
	// is not read.
	//
	// +optional
	GroupName string `json:"groupName,omitempty"`

	// Index of the group, from 0. Indices close up when a group goes; names do not
	// change.
	//
	// +optional
	GroupIndex int32 `json:"groupIndex,omitempty"`
}

// RolloutApproval lists the decision groups that wait for approval, and the
// approved groups. Approvals with a revision count for that revision alone.
// Remove other approvals in the same edit that changes what is rolled out:
// otherwise they apply to the new change too.
type RolloutApproval struct {
	// Groups that need approval. When absent, every group does.
	//
	// +optional
	Required []MandatoryDecisionGroup `json:"required,omitempty"`

	// Groups that are approved.
	//
	// +optional
	Approved []MandatoryDecisionGroup `json:"approved,omitempty"`

	// What the approvals are for: in a ManifestWorkReplicaSet the revision that its
	// status has as updateRevision. While another revision is rolled out, no group
	// counts as approved. When absent, approvals count for every revision.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
}
