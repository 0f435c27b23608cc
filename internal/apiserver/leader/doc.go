// Package leader owns how a replica that does not decide placements passes requests on to the replica that does, which
// alone remembers how it decided.
//
// The leader stores the address of its views in a Lease. Another replica calls it there with the credentials that the
// manager has on the hub, trusts the authorities that the API server trusts for the views, and names the caller in a
// header. The package does not know what is asked, and grants nothing: the leader asks the hub what the caller may do. One
// invariant: the header counts only where the hub says that the manager's own user sent it.
package leader
