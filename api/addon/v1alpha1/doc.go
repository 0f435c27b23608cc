// Package v1alpha1 holds the kinds of add-ons: programs that run on the members of a fleet and are managed on the hub.
// ClusterManagementAddOn describes an add-on, ManagedClusterAddOn its presence on one cluster, AddOnDeploymentConfig and
// AddOnTemplate how its agent runs. This is the stored version.
//
// It owns the Go form and its schema markers.
//
// +kubebuilder:object:generate=true
// +groupName=addon.open-cluster-management.io
package v1alpha1
