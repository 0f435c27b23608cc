// Package v1 holds the spec of a ManifestWork: the objects to create on a member and how to keep them. AddOnTemplate embeds it.
//
// It owns the Go form and its schema markers. It delivers nothing.
//
// +kubebuilder:object:generate=true
// +groupName=work.open-cluster-management.io
package v1
