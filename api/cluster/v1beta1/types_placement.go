package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Placement selects the clusters that a workload runs on. The selection is stored
// in PlacementDecision objects of the same namespace and follows the changes of
// the fleet. A cluster is selected when it is in a set that is bound to the
// namespace, matches a predicate, has no taint that the placement does not
// tolerate, and ranks high enough.
//
// A placement with an invalid spec keeps its decisions, and its condition
// PlacementMisconfigured has the reason.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementSatisfied")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementSatisfied")].reason`
// +kubebuilder:printcolumn:name="SelectedClusters",type=integer,JSONPath=`.status.numberOfSelectedClusters`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63",optionalOldSelf=true,fieldPath=".metadata",message="name must not exceed 63 characters, since decisions carry it as a label value"
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which clusters are wanted. `{}` selects every cluster of every set that is
	// bound to the namespace.
	//
	// +required
	Spec PlacementSpec `json:"spec"`

	// What was decided.
	//
	// +optional
	Status PlacementStatus `json:"status,omitzero"`
}

// PlacementList is a list of placements.
//
// +kubebuilder:object:root=true
type PlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Placement `json:"items"`
}

// PlacementSpec is which clusters are wanted. Clusters are narrowed down in the
// order of its parts: sets, predicates, taints; those that remain are ranked; the
// best are taken; those taken are put in groups.
type PlacementSpec struct {
	// Names of the sets to choose from. Only sets that are bound to the namespace
	// count; other names are ignored as long as one is bound. When empty, all
	// bound sets count.
	//
	// +optional
	ClusterSets []string `json:"clusterSets,omitempty"`

	// How many clusters to select, at most. When absent, all that qualify; 0
	// selects none and is satisfied by that. Lowering it drops the lowest-ranked
	// clusters. When fewer clusters qualify, all of them are selected and the
	// condition PlacementSatisfied is False.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumberOfClusters *int32 `json:"numberOfClusters,omitempty"`

	// What a cluster must be like. It qualifies when it matches any one predicate;
	// with no predicates every cluster does. A selected cluster that no longer
	// matches any is dropped.
	//
	// +optional
	Predicates []ClusterPredicate `json:"predicates,omitempty"`

	// Preferences that outrank every score, at most 16, the first choice first. A
	// cluster is in the first tier that it matches; a cluster in no tier is not
	// selected. Clusters of an earlier tier are selected before clusters of a later
	// tier, so that the workload moves to a later tier when the earlier tiers fail.
	// With no tiers all clusters are equal.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Tiers []ClusterTier `json:"tiers,omitempty"`

	// When clusters of an earlier tier that have recovered take over again from
	// those of a later tier. By default at once.
	//
	// +optional
	FailbackPolicy *FailbackPolicy `json:"failbackPolicy,omitempty"`

	// How many selected clusters may be dropped in a stretch of time. By default
	// any number.
	//
	// +optional
	DisruptionPolicy *DisruptionPolicy `json:"disruptionPolicy,omitempty"`

	// How clusters that qualify are ranked. By default an even load (Balance) and
	// few moves (Steady), with equal weight.
	//
	// +optional
	PrioritizerPolicy PrioritizerPolicy `json:"prioritizerPolicy,omitzero"`

	// How selected clusters are spread over regions, zones or any other topology.
	// By default they are not.
	//
	// +optional
	SpreadPolicy SpreadPolicy `json:"spreadPolicy,omitzero"`

	// Which taints do not keep a cluster from being selected. By default every
	// taint has its effect.
	//
	// +optional
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// How selected clusters are divided into groups, for consumers that roll out
	// group by group. By default all are in one unnamed group.
	//
	// +optional
	DecisionStrategy DecisionStrategy `json:"decisionStrategy,omitzero"`

	// Order of the decisions within a PlacementDecision. `ClusterName`, the
	// default: by name, and no scores are shown. `Score`: by total score, highest
	// first, then by name, and each decision shows its score. It does not change
	// which clusters are selected, nor in which group.
	//
	// +optional
	// +kubebuilder:default=ClusterName
	SortBy SortByType `json:"sortBy,omitempty"`

	// The minimum time between writes of decisions for changed scores alone: a
	// number and one of h, m and s, such as `30s`. Defaults to `1m`. A change of the
	// selected clusters is written at once, with fresh scores.
	//
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Pattern=`^[0-9]+[hms]$`
	ScoreRateLimit string `json:"scoreRateLimit,omitempty"`
}

// SortByType is an order of the decisions within a group.
//
// +kubebuilder:validation:Enum=ClusterName;Score
type SortByType string

const (
	// SortByClusterName orders decisions by cluster name.
	SortByClusterName SortByType = "ClusterName"
	// SortByScore orders decisions by total score, highest first, then by cluster
	// name.
	SortByScore SortByType = "Score"
)

// Toleration lets a placement select clusters despite a taint. It covers a taint
// when effect, key and value match and its time has not expired.
type Toleration struct {
	// Key of the taint. When empty, with operator Exists, it matches every key. At
	// most 316 characters.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Key string `json:"key,omitempty"`

	// How the value is compared. `Equal`, the default: the taint has the same
	// value. `Exists`: any value; value must then be empty.
	//
	// +optional
	// +kubebuilder:default=Equal
	Operator TolerationOperator `json:"operator,omitempty"`

	// Value that the taint must have, for operator Equal. At most 1024 characters.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`

	// Effect of the taint: NoSelect, PreferNoSelect or NoSelectIfNew. When empty,
	// every effect matches.
	//
	// +optional
	Effect clusterv1.TaintEffect `json:"effect,omitempty"`

	// For how many seconds after the taint appeared it is tolerated. When
	// absent, without a limit; 0 or less, never. When the time has expired the
	// cluster is dropped, except for a taint of effect NoSelectIfNew, which
	// never drops a selected cluster.
	//
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// TolerationOperator is a way to compare a toleration with a taint.
type TolerationOperator string

const (
	// TolerationOpEqual requires the same key and value.
	TolerationOpEqual TolerationOperator = "Equal"
	// TolerationOpExists requires the same key, whatever the value.
	TolerationOpExists TolerationOperator = "Exists"
)

// PlacementStatus is what was decided.
type PlacementStatus struct {
	// How many clusters are selected.
	//
	// +optional
	NumberOfSelectedClusters int32 `json:"numberOfSelectedClusters"`

	// How many of them have a taint of effect PreferNoSelect that the placement
	// does not tolerate; absent when none has.
	//
	// +optional
	NumberOfReluctantClusters int32 `json:"numberOfReluctantClusters,omitempty"`

	// The groups that the selected clusters are divided into, in order of their
	// index.
	//
	// +optional
	DecisionGroups []DecisionGroupStatus `json:"decisionGroups,omitempty"`

	// `PlacementSatisfied` reports whether as many clusters are selected as are
	// wanted, or the reason why not. `PlacementMisconfigured` reports whether the
	// spec is invalid; while it is True the last decisions stay.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// When scores were last written into the decisions; spec.scoreRateLimit counts
	// from here.
	//
	// +optional
	LastScoreUpdateTime *metav1.Time `json:"lastScoreUpdateTime,omitempty"`

	// The account of spec.disruptionPolicy.
	//
	// +optional
	Disruption *DisruptionStatus `json:"disruption,omitempty"`

	// The account of spec.failbackPolicy.
	//
	// +optional
	Failback *FailbackStatus `json:"failback,omitempty"`
}

// DecisionGroupStatus describes one group of selected clusters.
type DecisionGroupStatus struct {
	// Position of the group, from 0. The PlacementDecisions of the group carry it
	// as a label.
	//
	// +optional
	DecisionGroupIndex int32 `json:"decisionGroupIndex"`

	// Name of the group as spec.decisionStrategy gives it, or empty. Groups that
	// share a name are parts of one large group.
	//
	// +optional
	DecisionGroupName string `json:"decisionGroupName"`

	// Names of the PlacementDecisions that hold the group's clusters.
	//
	// +optional
	Decisions []string `json:"decisions,omitempty"`

	// How many clusters the group has.
	//
	// +optional
	// +kubebuilder:default=0
	ClustersCount int32 `json:"clusterCount"`
}
