// Package v1alpha1 has what people decide about rollouts: pauses, approvals and
// forgiven failures. It also has the kept templates that hold Secrets. These objects are
// of Berth alone.
//
// +kubebuilder:object:generate=true
// +groupName=rollout.berth-project.io
package v1alpha1
