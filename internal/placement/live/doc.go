// Package live owns the state of the fleet in a running manager. It builds a fleet.Snapshot from the informers, records what
// the manager itself stored before the informers show it, and enqueues the placements that a change can affect.
//
// It neither decides nor writes. One invariant: for a placement that this process has decided, the decisions in the snapshot
// are those that this process stored last, never those of a stale cache or of another client.
package live
