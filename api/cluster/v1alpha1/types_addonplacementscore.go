package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddOnPlacementScore is a set of scores that one provider publishes about one
// cluster. It lives in the namespace that bears the cluster's name. A
// placement names the object and one of its scores in its prioritizerPolicy to
// rank clusters by it, or reads it in a CEL expression with
// `managedCluster.scores("<name of this object>")`.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
type AddOnPlacementScore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The scores, as their provider last wrote them.
	//
	// +optional
	Status AddOnPlacementScoreStatus `json:"status,omitzero"`
}

// AddOnPlacementScoreList is a list of score objects.
//
// +kubebuilder:object:root=true
type AddOnPlacementScoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AddOnPlacementScore `json:"items"`
}

// AddOnPlacementScoreStatus holds the scores of one provider for one cluster.
type AddOnPlacementScoreStatus struct {
	// What the provider reports about its own work. Placements do not read it.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The scores, each with a name of its own. A score that is missing counts as
	// 0.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Scores []AddOnPlacementScoreItem `json:"scores,omitempty"`

	// Until when the scores hold. From then on each counts as 0, and placements that
	// use them report the condition PlacementScoresExpired. When absent, the scores
	// hold until they are overwritten.
	//
	// +optional
	ValidUntil *metav1.Time `json:"validUntil,omitempty"`
}

// AddOnPlacementScoreItem is one named score.
type AddOnPlacementScoreItem struct {
	// Name of the score, unique in the object. A placement refers to it as
	// scoreName.
	//
	// +required
	Name string `json:"name"`

	// The score: an integer from -100 (worst) to 100 (best).
	//
	// +required
	// +kubebuilder:validation:Minimum=-100
	// +kubebuilder:validation:Maximum=100
	Value int32 `json:"value"`
}
