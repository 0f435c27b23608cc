// Package v1beta1 holds the second version of the kinds of add-ons, which agents of Open Cluster Management read from 1.3 on.
// It is served, and not stored: a webhook converts it.
//
// It owns the Go form and its schema markers. Types without a difference are those of v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=addon.open-cluster-management.io
package v1beta1
