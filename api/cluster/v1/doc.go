// Package v1 holds ManagedCluster: what the hub knows about one cluster of the fleet.
//
// It owns the Go form of the object, the names of its conditions, reasons, health taints, labels and annotations, and
// the schema markers. It knows nothing of how a cluster is registered or chosen. Its JSON form is a contract with every
// existing reader: a field is added, never renamed, narrowed or retyped.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1
