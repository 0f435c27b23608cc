// Package v1beta1 holds Placement and PlacementDecision, which holds the
// clusters that a placement selected. It also serves ManagedClusterSet under
// its older version.
//
// It owns the Go form of the objects, their conditions, reasons and keys, and
// the schema markers; it does not decide. Its JSON form is a contract with
// every existing reader. A value with a meaning is always written (an empty
// list of decisions is `[]`), and a value that was never set is never written.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1beta1
