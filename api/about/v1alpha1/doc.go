// Package v1alpha1 holds ClusterProperty: a property that a member stores about itself (KEP-2149), and its agent reports.
//
// It owns the Go form of the kind and its schema markers. It reports nothing. Versions v1alpha1 and v1beta1 have the same
// fields; the API server stores v1beta1.
//
// +kubebuilder:object:generate=true
// +groupName=about.k8s.io
package v1alpha1
