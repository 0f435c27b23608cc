package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RolloutRecord is what a rollout has shown so far. It outlives the clusters that
// leave and the restarts of the manager.
type RolloutRecord struct {
	// Hash of what is rolled out.
	Revision string `json:"revision"`

	// Whether the template had begun before with other overrides: a decision to return
	// to the template at once does not count for these.
	//
	// +optional
	Overrides bool `json:"overrides,omitempty"`

	// Hash of the overrides of the last rollout that finished; empty for none. While
	// others are rolled out, a cluster that joins waits for its turn.
	//
	// +optional
	ProvenOverrides string `json:"provenOverrides,omitempty"`

	// When the rollout began.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	StartedTime metav1.MicroTime `json:"startedTime"`

	// When the record was last made sure of. Time in which no manager ran counts as
	// no soak.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	ObservedTime metav1.MicroTime `json:"observedTime,omitzero"`

	// When the rollout had finished: every cluster has the change, was left out, or
	// failed within maxFailures. From then on it goes to every cluster that joins.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	FinishedTime *metav1.MicroTime `json:"finishedTime,omitempty"`

	// The decision to return at once that has ended, by its time. It does not count
	// any more.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	Returned *metav1.MicroTime `json:"returned,omitempty"`

	// Counts and mandatory groups of each placement.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Placements []PlacementRolloutRecord `json:"placements,omitempty"`

	// Clusters that are in flight, failed, were lost, left or were forgiven: at most
	// 200 of each.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Clusters []ClusterRolloutRecord `json:"clusters,omitempty"`

	// Clusters that have to be through and are not selected. The rollout does not
	// finish, although nothing is left to do on those that are selected.
	//
	// +optional
	Missing int32 `json:"missing,omitempty"`

	// What holds the rollout until it ends by itself or a person ends it.
	//
	// +optional
	Holds []RolloutHold `json:"holds,omitempty"`
}

// RolloutHold is why clusters of a placement do not start.
type RolloutHold struct {
	// `Breach`: more clusters failed or were lost than maxFailures allows.
	// `UnprovenGroup`: no cluster of a mandatory group can prove the change.
	// `MissingClusters`: clusters that have to be through are not selected.
	Type RolloutHoldType `json:"type"`

	// Name of the placement.
	Placement string `json:"placement"`

	// The mandatory group; empty for a breach.
	MandatoryDecisionGroup `json:",inline"`

	// When the hold began. It stays while the hold lasts, whatever else changes.
	Since metav1.Time `json:"since"`
}

// RolloutHoldType is a type of holds of a rollout.
//
// +kubebuilder:validation:Enum=Breach;UnprovenGroup;MissingClusters
type RolloutHoldType string

const (
	// HoldBreach means that more clusters failed or were lost than maxFailures allows.
	HoldBreach RolloutHoldType = "Breach"
	// HoldUnprovenGroup means that no cluster of a mandatory group can prove the change.
	HoldUnprovenGroup RolloutHoldType = "UnprovenGroup"
	// HoldMissing means that clusters which have to be through are not selected, so that the rollout does not finish.
	HoldMissing RolloutHoldType = "MissingClusters"
)

// PlacementRolloutRecord is the part of a record about one placement.
type PlacementRolloutRecord struct {
	// Name of the placement.
	Name string `json:"name"`

	// UID of the placement that decided last. Another one is an edit too: the
	// placement was deleted and made anew.
	//
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// Generation of the placement that decided last. A later one is an edit, which
	// may drop clusters on purpose.
	//
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Clusters that have to be through before the rollout has finished: those that
	// were selected when it began, and those that an edit added. An edit that selects
	// fewer takes away only those that had succeeded.
	//
	// +optional
	Total int32 `json:"total,omitempty"`

	// Clusters that were selected when the rollout began. Percentages are of it.
	//
	// +optional
	Base int32 `json:"base,omitempty"`

	// Counts by decision group.
	//
	// +optional
	Groups []GroupRolloutRecord `json:"groups,omitempty"`

	// Mandatory groups, in the order of the strategy.
	//
	// +optional
	Gates []GateRecord `json:"gates,omitempty"`

	// While true, more clusters failed or were lost than maxFailures allows. It
	// outlasts the placement in the spec.
	//
	// +optional
	Breached bool `json:"breached,omitempty"`
}

// GroupRolloutRecord counts the clusters of one decision group that were started.
type GroupRolloutRecord struct {
	// Name of the group; empty for a group without a name.
	//
	// +optional
	Name string `json:"name,omitempty"`

	// Index of the group when its first cluster started.
	//
	// +optional
	Index int32 `json:"index,omitempty"`

	// Clusters that were given the change.
	//
	// +optional
	Started int32 `json:"started,omitempty"`

	// Clusters that took it and stayed healthy for minSuccessTime.
	//
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`

	// Clusters that failed and have not succeeded since.
	//
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// Clusters that were no longer selected before they succeeded.
	//
	// +optional
	Lost int32 `json:"lost,omitempty"`

	// Clusters that were healthy when they were deleted, denied, or dropped by an
	// edit of the placement.
	//
	// +optional
	Left int32 `json:"left,omitempty"`

	// Clusters that are no longer selected after they had succeeded.
	//
	// +optional
	Departed int32 `json:"departed,omitempty"`
}

// GateRecord is a mandatory group, which has to be passed before later groups
// start.
type GateRecord struct {
	MandatoryDecisionGroup `json:",inline"`

	// Name of the group that an index meant when the rollout began.
	//
	// +optional
	Resolved string `json:"resolved,omitempty"`

	// Clusters of the group when it was opened: at most 200. They prove the change;
	// clusters that join the group later do not.
	//
	// +optional
	// +listType=set
	Clusters []string `json:"clusters,omitempty"`

	// How many of these clusters succeeded, also of those that left since.
	//
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`

	// `Proven`: the clusters of the group succeeded. `Approved`: a person passed the
	// group. Empty while later groups have to wait.
	//
	// +optional
	Passed GatePassage `json:"passed,omitempty"`
}

// GatePassage is why a mandatory group was passed.
//
// +kubebuilder:validation:Enum=Proven;Approved
type GatePassage string

const (
	// GateProven means that clusters of the group succeeded with the change.
	GateProven GatePassage = "Proven"
	// GateApproved means that a person passed the group.
	GateApproved GatePassage = "Approved"
)

// ClusterRolloutRecord is what is known of a cluster that was given the change and
// did not succeed with it so far.
type ClusterRolloutRecord struct {
	// Name of the cluster.
	Name string `json:"name"`

	// Placement that ruled the cluster when it started.
	//
	// +optional
	Placement string `json:"placement,omitempty"`

	// Name of its decision group at that time.
	//
	// +optional
	GroupName string `json:"groupName,omitempty"`

	// Index of its decision group at that time.
	//
	// +optional
	GroupIndex int32 `json:"groupIndex,omitempty"`

	// `InFlight`, `Failed`, `Lost`, `Left` or `Forgiven`.
	Phase ClusterRolloutPhase `json:"phase"`

	// When the cluster was given the change, by the clock of the manager.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	StartedTime metav1.MicroTime `json:"startedTime"`

	// When the manager first saw the success that lasts until now.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$`
	SucceededTime *metav1.MicroTime `json:"succeededTime,omitempty"`

	// True once the cluster was seen with the change. Until then it may still have to
	// wait.
	//
	// +optional
	Written bool `json:"written,omitempty"`

	// True once the cluster reported success. No deadline runs from then on.
	//
	// +optional
	Reached bool `json:"reached,omitempty"`

	// State that was last seen.
	//
	// +optional
	State string `json:"state,omitempty"`

	// Whether the cluster was Available when it was last seen.
	//
	// +optional
	Available bool `json:"available,omitempty"`

	// Why the cluster failed or left.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// ClusterRolloutPhase is where a cluster stands that did not succeed so far.
//
// +kubebuilder:validation:Enum=InFlight;Failed;Lost;Left;Forgiven
type ClusterRolloutPhase string

const (
	// ClusterInFlight means that the cluster is under way or soaking.
	ClusterInFlight ClusterRolloutPhase = "InFlight"
	// ClusterFailed means that the cluster failed, and has not succeeded since.
	ClusterFailed ClusterRolloutPhase = "Failed"
	// ClusterLost means that the cluster was no longer selected before it succeeded. It counts as a failure.
	ClusterLost ClusterRolloutPhase = "Lost"
	// ClusterLeft means that a healthy cluster was deleted, denied, or dropped by an edit of the placement. It does not count.
	ClusterLeft ClusterRolloutPhase = "Left"
	// ClusterForgiven means that a person decided that the failure does not count.
	ClusterForgiven ClusterRolloutPhase = "Forgiven"
)
