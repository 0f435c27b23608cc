// Package v1alpha1 holds ManifestWorkReplicaSet: a ManifestWork for each cluster of a placement, and how a change of it rolls out.
//
// It owns the Go form, the schema markers and the keys on these objects. It delivers nothing.
//
// +kubebuilder:object:generate=true
// +groupName=work.open-cluster-management.io
package v1alpha1
