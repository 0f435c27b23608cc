package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DecisionStrategy is how selected clusters are presented to consumers.
type DecisionStrategy struct {
	// How selected clusters are divided into groups.
	//
	// +optional
	GroupStrategy GroupStrategy `json:"groupStrategy,omitzero"`
}

// GroupStrategy is how selected clusters are divided into groups. A cluster that
// stays selected stays in its group while it belongs there; a changed strategy
// divides all of them again.
type GroupStrategy struct {
	// Named groups, in order. A cluster is in the first whose selector it matches;
	// clusters that match none come after, in groups without a name. A group that
	// matches no cluster takes no index. A name may be used more than once.
	//
	// +optional
	DecisionGroups []DecisionGroup `json:"decisionGroups,omitempty"`

	// How many clusters a group may have, named or not: a number, or a percentage
	// of all selected clusters, rounded up. Defaults to `100%`. A larger group is
	// divided into several with the same name and successive indices. 0 stands
	// for an absent value: Go programs that set nothing write it.
	//
	// +optional
	// +kubebuilder:default="100%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$`
	ClustersPerDecisionGroup intstr.IntOrString `json:"clustersPerDecisionGroup,omitzero"`
}

// DecisionGroup is a named group of selected clusters.
type DecisionGroup struct {
	// Name of the group; 2 to 63 characters that are valid in a label value. The
	// PlacementDecisions of the group carry it as a label.
	//
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$`
	GroupName string `json:"groupName"`

	// Which selected clusters are in the group. `{}` takes all that no earlier
	// group has.
	//
	// +required
	ClusterSelector GroupClusterSelector `json:"groupClusterSelector"`
}

// GroupClusterSelector matches the selected clusters that satisfy all of its
// parts. An absent part is satisfied by every cluster.
type GroupClusterSelector struct {
	// Labels of the ManagedCluster.
	//
	// +optional
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitzero"`

	// Claims that the cluster reports in its status.
	//
	// +optional
	ClaimSelector ClusterClaimSelector `json:"claimSelector,omitzero"`

	// CEL expressions over the ManagedCluster and its scores. An expression that
	// fails on a selected cluster does not match it. An expression that fails on
	// every selected cluster makes the placement misconfigured.
	//
	// +optional
	CelSelector ClusterCelSelector `json:"celSelector,omitzero"`
}
