// Package engine decides which clusters of a fleet a placement gets, in which groups and slices, with which conditions, and
// when to decide again.
//
//	Snapshot + Program + Ledger ──▶ Schedule ──▶ Result ──▶ plan.Diff(result, stored) ──▶ writes
//
// The API is not stable. Programs outside this repository import api, decision and rollout.
//
// The loop of a caller is the example of the package. The scripts in testdata show a decision for each filter, prioritizer,
// constraint and group rule.
//
// # Contract
//
// Schedule is a pure function. It has no clock, randomness, log or client, starts no goroutine and keeps no state. The same
// arguments give the same bytes. All output is in the Result, including the trace.
//
// A decision is stable: if the slices of a Result are put back into the snapshot and no fact that the placement reads has
// changed, Schedule returns the same slices. Four rules ensure this. A selected cluster already has the best score that
// Balance can give. A choice is repeated from itself until it does not change. Clusters keep their group and slice. Ties
// break by name.
//
// The Ledger has the clusters that were removed lately, that are held, and that wait to displace others. The caller reads it
// from the stored placement, and plan.Diff writes it back.
//
// A mistake never evicts. If the placement is invalid, the Result keeps the previous clusters, except those that the namespace
// can no longer reach, and reports Misconfigured. If only a bound set is invalid, its clusters are held and the others are
// decided as usual.
//
// # Duties of the caller
//
//  1. Do not decide a placement that is being deleted or has the disable annotation. Leave its objects alone.
//  2. Put the slices of the last decision into the snapshot, from memory if possible, so that changes of other clients are
//     reverted.
//  3. Pass the Ledger that plan.ReadLedger reads from the stored placement.
//  4. Set Snapshot.Now. Decide again no later than Result.RecheckAt and Plan.RecheckAt, and whenever wake.Index finds that
//     a change concerns the placement.
//  5. Write only what plan.Diff returns, in its order, and stop at the first write that fails.
//  6. Do not change a Result or the objects of the snapshot.
package engine
