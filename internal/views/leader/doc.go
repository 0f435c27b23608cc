// Package leader forwards requests from a replica that does not decide placements to the leader, which alone has a record
// of the decisions.
//
// The leader stores the address of its views in a Lease. Another replica calls this address with the manager's credentials
// for the hub, verifies it with the CA bundle of the APIService, and sends the user in a header. The package does not
// interpret requests and grants nothing: the leader authorizes the user. One invariant: the header counts only in requests
// that the hub authenticated as the manager's own user.
package leader
