package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPredicate is one way for a cluster to qualify.
type ClusterPredicate struct {
	// What the cluster must be like. When empty, every cluster matches.
	//
	// +optional
	RequiredClusterSelector ClusterSelector `json:"requiredClusterSelector,omitzero"`
}

// ClusterSelector matches the clusters that satisfy all of its parts. An
// absent part is satisfied by every cluster.
type ClusterSelector struct {
	// Allowed names of the cluster. When empty, every name is allowed. At most 1000.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	ClusterNames []string `json:"clusterNames,omitempty"`

	// Labels of the ManagedCluster.
	//
	// +optional
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitzero"`

	// Claims that the cluster reports in its status.
	//
	// +optional
	ClaimSelector ClusterClaimSelector `json:"claimSelector,omitzero"`

	// CEL expressions over the ManagedCluster and its scores.
	//
	// +optional
	CelSelector ClusterCelSelector `json:"celSelector,omitzero"`
}

// ClusterClaimSelector matches clusters by the claims in their status.
type ClusterClaimSelector struct {
	// Claims that the cluster must have, with these very values. Each is short for
	// an expression with operator In and one value.
	//
	// +optional
	MatchClaims map[string]string `json:"matchClaims,omitempty"`

	// Requirements that the claims must all meet; the key is the name of a
	// claim. The operators are those of label selectors: In, NotIn, Exists,
	// DoesNotExist. NotIn and DoesNotExist also match clusters without the claim.
	// Names and values may be any that a claim can have; they need not be valid
	// labels.
	//
	// +optional
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// ClusterCelSelector matches clusters by CEL expressions.
type ClusterCelSelector struct {
	// CEL expressions that must all be true, such as
	// `managedCluster.metadata.labels["env"] == "prod"`,
	// `managedCluster.scores("gpu").exists(s, s.name == "free" && s.value > 50)` or
	// `quantity(managedCluster.claim("memory")).isGreaterThan(quantity("64Gi"))`.
	// The variable managedCluster is the JSON form of the ManagedCluster. An
	// expression must yield a bool, or the placement is misconfigured. An expression
	// that fails on a cluster, for instance because a label or claim is missing or a
	// score is expired, does not match it. Evaluation is bounded: an expression that
	// costs too much selects no new cluster and drops no selected one.
	//
	// +optional
	CelExpressions []string `json:"celExpressions,omitempty"`
}
