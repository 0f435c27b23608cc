// Package v1 holds ManifestWork, the objects to keep on a member, and AppliedManifestWork, the member's record of them.
//
// It owns the Go form, the schema markers and the keys on these objects. It delivers nothing.
//
// +kubebuilder:object:generate=true
// +groupName=work.open-cluster-management.io
package v1
