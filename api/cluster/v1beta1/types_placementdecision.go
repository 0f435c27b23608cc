package v1beta1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementDecision holds a part of the clusters that a placement selected. A
// placement has one or more of them in its namespace, found by the label
// `cluster.open-cluster-management.io/placement`; together they are the decision.
// All clusters of one object are in the same group, with its index in the label
// `cluster.open-cluster-management.io/decision-group-index` and its name in the
// label `cluster.open-cluster-management.io/decision-group-name`. The hub writes
// these objects: read them, and edit the placement.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
type PlacementDecision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The selected clusters.
	//
	// +optional
	Status PlacementDecisionStatus `json:"status"`
}

// PlacementDecisionList is a list of decisions.
//
// +kubebuilder:object:root=true
type PlacementDecisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PlacementDecision `json:"items"`
}

// PlacementDecisionStatus holds selected clusters.
type PlacementDecisionStatus struct {
	// Selected clusters of one group: at most 100 at rest, briefly more while
	// clusters move. A cluster that moves to another object is in both objects
	// before it leaves the first, so collect names into a set.
	//
	// +required
	Decisions []ClusterDecision `json:"decisions"`
}

// MarshalJSON writes a nil list of decisions as [], since the schema refuses
// null and readers range over the list.
func (s PlacementDecisionStatus) MarshalJSON() ([]byte, error) {
	type plain PlacementDecisionStatus
	if s.Decisions == nil {
		s.Decisions = []ClusterDecision{}
	}
	return json.Marshal(plain(s))
}

// ClusterDecision is one selected cluster.
type ClusterDecision struct {
	// Name of the selected ManagedCluster.
	//
	// +required
	ClusterName string `json:"clusterName"`

	// Name of the tier that the cluster is in; empty, though present, where the
	// placement has no tiers.
	//
	// +required
	Reason string `json:"reason"`

	// Total score of the cluster when it was last written, with spec.sortBy: Score;
	// absent otherwise, and when 0.
	//
	// +optional
	Score int64 `json:"score,omitempty"`
}
