// Package v1 holds ManagedCluster: one cluster of the fleet in the hub's view.
//
// It owns the Go form of the object, the names of its conditions, reasons, health taints, labels and annotations, and
// the schema markers. It does not register or select clusters. Its JSON form is a contract with every
// existing reader: a field is added, never renamed, narrowed or retyped.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1
