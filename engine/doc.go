// Package engine decides: given a fleet at one instant and a compiled placement, which clusters the placement gets,
// in which groups and slices, what to say about it, and when to look again.
//
//	Snapshot + Program + Ledger ──▶ Schedule ──▶ Result ──▶ plan.Diff(result, stored) ──▶ writes
//
// # Contract
//
// Schedule is a pure function. It has no clock, no randomness, no log and no client; it starts no goroutine and keeps
// nothing. The same arguments give the same bytes. Everything it can say is in the Result, the trace included.
//
// Deciding again what was decided moves nothing: when the slices of a Result are put back into the snapshot and no
// fact that the placement reads has changed, Schedule returns the same slices. Four rules make it so. A cluster that
// is selected already scores the best that Balance can give. A choice is made again from itself until it confirms itself.
// Groups and slices are sticky. Ties break by name.
//
// How many were dropped lately, who is held and who waits to take over is in the Ledger: a value like the others, which
// the caller reads from what is stored and plan.Diff writes back.
//
// A mistake never evicts. Where the placement is wrong, the Result keeps the clusters decided before, save those that
// the namespace can no longer reach, and says Misconfigured. Where only one bound set is wrong, its clusters are held
// and the others are decided as ever.
//
// # Duties of the caller
//
//  1. Do not call for a placement that is being deleted or has the disable annotation: leave its objects alone.
//  2. Give the slices as last decided in the snapshot, from memory where there is one, so that what a stranger
//     changed is put back.
//  3. Give the Ledger that plan.ReadLedger reads from the placement as it is stored.
//  4. Set Snapshot.Now. Call again no later than Result.LookAgain and Plan.LookAgain, and whenever program.Index says
//     that a change touches the placement.
//  5. Write nothing but what plan.Diff returns, in its order, and stop at the first write that fails.
//  6. Do not change a Result, nor the objects that went into the snapshot.
package engine
