// Package v1alpha1 holds ClusterProfile: one cluster in an inventory that any tool can read, as SIG Multicluster defines it (KEP-4322).
// And it holds PlacementDecision of the same group: a part of the clusters that a scheduler selected, by the names of their profiles
// (KEP-5313). It is another kind than PlacementDecision of cluster.open-cluster-management.io.
//
// It owns the Go form of these and their schema markers. It writes no profiles and decides nothing. Both kinds are provisional in
// Kubernetes, so this version may change.
//
// +kubebuilder:object:generate=true
// +groupName=multicluster.x-k8s.io
package v1alpha1
