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

// RolloutStrategy says in which order and at which pace a change comes to the
// clusters of a placement. It is no object of its own: objects that roll
// something out embed it.
type RolloutStrategy struct {
	// `All`: every cluster at once. `Progressive`: cluster by cluster, at most
	// maxConcurrency at a time. `ProgressivePerGroup`: decision group by decision
	// group.
	//
	// +optional
	// +kubebuilder:default=All
	Type RolloutType `json:"type,omitempty"`

	// What type `All` goes by; other types do not read it.
	//
	// +optional
	All *RolloutAll `json:"all,omitempty"`

	// What type `Progressive` goes by; other types do not read it.
	//
	// +optional
	Progressive *RolloutProgressive `json:"progressive,omitempty"`

	// What type `ProgressivePerGroup` goes by; other types do not read it.
	//
	// +optional
	ProgressivePerGroup *RolloutProgressivePerGroup `json:"progressivePerGroup,omitempty"`

	// While true, no further cluster is started. Those that have been started go
	// on, and are timed as ever.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Which decision groups are started only after somebody approved. When absent,
	// none waits for approval.
	//
	// +optional
	Approval *RolloutApproval `json:"approval,omitempty"`
}

// RolloutAll is the part of a strategy that type `All` goes by.
type RolloutAll struct {
	RolloutConfig `json:",inline"`
}

// RolloutProgressive is the part of a strategy that type `Progressive` goes by.
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

// RolloutProgressivePerGroup is the part of a strategy that type
// `ProgressivePerGroup` goes by.
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

	// How long a cluster may be under way or failed before it is given up as timed
	// out, such as `30m` or `1h30m`. `None` gives it all the time it takes.
	//
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Pattern=`^(([0-9])+[h|m|s])|None$`
	ProgressDeadline string `json:"progressDeadline,omitempty"`

	// How many clusters may fail or time out before no further one is started: a
	// number, or a percentage rounded up, of all clusters with `Progressive`, of the
	// clusters of each group with `ProgressivePerGroup`. More than there are
	// clusters counts as all of them. Type `All` starts everything at once and does
	// not read it.
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
	// order. Each must be done without a failure before anything further is
	// started, whatever maxFailures says. A group that the placement does not have
	// holds nothing up.
	//
	// +optional
	MandatoryDecisionGroups []MandatoryDecisionGroup `json:"mandatoryDecisionGroups,omitempty"`
}

// MandatoryDecisionGroup points to decision groups by name or by index.
type MandatoryDecisionGroup struct {
	// Name of the groups: all that bear it, by index. When set, the index is not
	// read.
	//
	// +optional
	GroupName string `json:"groupName,omitempty"`

	// Index of the group, from 0. Indices close up when a group goes; names do not
	// change.
	//
	// +optional
	GroupIndex int32 `json:"groupIndex,omitempty"`
}

// RolloutApproval says which decision groups wait for somebody's approval, and
// which have it. Whoever changes what is rolled out takes the approvals back in
// the same edit, or they hold for the change too.
type RolloutApproval struct {
	// Groups that need approval. When absent, every group does.
	//
	// +optional
	Required []MandatoryDecisionGroup `json:"required,omitempty"`

	// Groups that are approved.
	//
	// +optional
	Approved []MandatoryDecisionGroup `json:"approved,omitempty"`
}
