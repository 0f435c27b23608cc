// Package v1alpha1 holds AddOnPlacementScore: numbers that an add-on publishes about a cluster and placements rank by. It
// holds ClusterClaim: a property that a member stores and its agent reports. And it holds RolloutStrategy, which objects embed
// that bring a change to the clusters of a placement.
//
// It owns the Go form of these and their schema markers. It computes no scores, reports no claims and rolls out nothing. A score is always
// an integer from -100 to 100.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1alpha1
