// Package v1beta2 holds ManagedClusterSet, a named group of clusters, and ManagedClusterSetBinding, which lets the
// placements of one namespace choose from a set.
//
// It owns the Go form of both objects, their conditions, reasons and keys, and the schema markers; it does not compute or enforce
// membership. ManagedClusterSet is stored in this version; v1beta1 serves the same schema.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1beta2
