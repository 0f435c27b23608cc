package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ClusterTier is a set of clusters that is preferred to the tiers after it.
type ClusterTier struct {
	// Name of the tier, unique among the tiers, such as `primary`. The decisions of
	// its clusters carry it as their reason.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-A-Za-z0-9_.]*[a-zA-Z0-9])?$`
	Name string `json:"name"`

	// Which clusters are in the tier, unless an earlier tier has them. When empty,
	// all remaining clusters.
	//
	// +optional
	ClusterSelector ClusterSelector `json:"clusterSelector,omitzero"`
}

// FailbackPolicy is when clusters of an earlier tier take over again.
type FailbackPolicy struct {
	// How many seconds without interruption a cluster of an earlier tier must
	// qualify before it displaces a selected cluster of a later tier. Defaults to
	// 300, also without a failback policy, so that a cluster that repeatedly fails
	// and recovers displaces nothing. 0 is at once. A free place is always filled at
	// once. A change of the spec does not wait.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	StabilizationSeconds *int32 `json:"stabilizationSeconds,omitempty"`
}

// DisruptionPolicy limits how many selected clusters are dropped in a stretch of
// time. It counts clusters that are dropped because they no longer qualify
// (labels, claims, expressions, taints) or because others rank before them. It
// does not count clusters that are deleted, that the namespace may no longer
// reach, or that a change of the spec drops. A cluster over the limit is held: it
// stays selected until the limit permits its removal, first held, first dropped,
// or until it qualifies again.
type DisruptionPolicy struct {
	// How many clusters may be dropped within the interval: a number, or a
	// percentage of the selected clusters, rounded up. 0 drops none.
	//
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[1-9]?[0-9])%|[0-9]+)$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0 && self <= 2147483647",message="must be from 0 to 2147483647, or a percentage"
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`

	// The stretch of time, such as `10m` or `1h30m`, from 1s to 168h. Defaults to
	// `10m`. In no stretch of this length are more clusters dropped, wherever it
	// begins.
	//
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([0-9]{1,3}h)?([0-9]{1,5}m)?([0-9]{1,6}s)?$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be 1s or more"
	Interval metav1.Duration `json:"interval,omitzero"`
}

// DisruptionStatus is the account of a disruption policy. It is written before
// the clusters that it names are dropped, so that an interruption never drops
// more than the policy allows.
type DisruptionStatus struct {
	// What was dropped, as far as it may still count; oldest first.
	//
	// +optional
	// +listType=atomic
	Spent []DisruptionSpent `json:"spent,omitempty"`

	// Clusters that are being dropped and already counted.
	//
	// +optional
	// +listType=atomic
	Releasing []string `json:"releasing,omitempty"`

	// Selected clusters that would be dropped and stay for now, by the instant from
	// which they are held.
	//
	// +optional
	// +listType=atomic
	Held []ClustersSince `json:"held,omitempty"`
}

// DisruptionSpent is a number of clusters dropped at one instant.
type DisruptionSpent struct {
	// When they were dropped.
	//
	// +required
	At metav1.Time `json:"at"`

	// How many.
	//
	// +required
	Count int32 `json:"count"`
}

// FailbackStatus is the account of a failback policy.
type FailbackStatus struct {
	// Clusters of earlier tiers that qualify again and are not selected, by the
	// instant from which they qualify. At most the 1000 that rank first.
	//
	// +optional
	// +listType=atomic
	Waiting []ClustersSince `json:"waiting,omitempty"`
}

// ClustersSince is a list of clusters that share the start of a state.
type ClustersSince struct {
	// Start of the state.
	//
	// +required
	Since metav1.Time `json:"since"`

	// Names of the clusters, sorted.
	//
	// +required
	// +listType=atomic
	Clusters []string `json:"clusters"`
}
