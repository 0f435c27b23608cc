package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementDecision holds a part of the clusters that a scheduler selected, as
// references to their profiles. All PlacementDecisions with the same label
// `multicluster.x-k8s.io/decision-key` are one result; read all of them. The
// label `multicluster.x-k8s.io/decision-index` counts them from 0. The
// annotation `multicluster.x-k8s.io/decision-revision` is the same on all of
// them, except while a change is being written. Only the scheduler writes them.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.metadata.labels.multicluster\.x-k8s\.io/decision-key`
// +kubebuilder:printcolumn:name="Index",type=string,JSONPath=`.metadata.labels.multicluster\.x-k8s\.io/decision-index`
// +kubebuilder:printcolumn:name="Scheduler",type=string,JSONPath=`.schedulerName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PlacementDecision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Name of the scheduler that decided.
	//
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// The selected clusters: 0 to 100. A cluster that moves to another object is
	// in both for a moment, so collect names into a set.
	//
	// +required
	// +kubebuilder:validation:MaxItems=100
	Decisions []ClusterDecision `json:"decisions"`
}

// PlacementDecisionList is a list of decisions.
//
// +kubebuilder:object:root=true
type PlacementDecisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PlacementDecision `json:"items"`
}

// ClusterDecision is one selected cluster.
type ClusterDecision struct {
	// The profile of the cluster.
	//
	// +required
	ClusterProfileRef ClusterProfileReference `json:"clusterProfileRef"`

	// Why the scheduler selected the cluster, for people: its decision group, its
	// tier and its rank, as far as it has them.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
}

// ClusterProfileReference names a ClusterProfile.
type ClusterProfileReference struct {
	// Name of the profile.
	//
	// +required
	Name string `json:"name"`

	// Namespace of the profile; that of the decision when absent.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
