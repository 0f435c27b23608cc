// Package v1alpha1 holds AddOnPlacementScore: numbers that an add-on publishes about a cluster and placements rank by; and
// RolloutStrategy, which objects embed that bring a change to the clusters of a placement.
//
// It owns the Go form of both and their schema markers, and neither computes nor weighs scores, nor rolls
// out anything. A score is always an integer from -100 to 100.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1alpha1
