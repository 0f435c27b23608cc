// Package v1alpha1 holds AddOnPlacementScore: numbers that an add-on publishes about a cluster and placements rank by.
//
// It owns the Go form of the object and its schema markers, and refuses to know who computes a score or how it is
// weighed. A score is always an integer from -100 to 100.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1alpha1
