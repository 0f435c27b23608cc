// Package migrate converts what earlier versions of Open Cluster Management stored on a hub to the form that Berth reads.
//
// It owns the list of conversions. A plan changes nothing; each of its steps is one conversion. It deletes nothing: what it replaces stays
// until an administrator removes it. The invariant: a repeated plan after its steps is empty.
package migrate
