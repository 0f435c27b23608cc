// Package rollout decides which clusters of a placement get a change next: Next takes a strategy, the decision groups and
// how far each cluster has come, and returns a Step. It owns the pace, and refuses to know what is rolled out, how it is
// applied and how success is told. It asks nobody, keeps nothing and reads no clock: the same arguments give the same
// step, so a controller that restarts goes on where it was.
//
// # The contract
//
//   - A cluster starts only where a place of maxConcurrency is free, every group that must be done before is done, its
//     group is approved, and nothing is paused or breached.
//   - More failures than are tolerated start no further cluster. What has been started is left as it is; nothing is ever
//     rolled back by a Step.
//   - A failed cluster counts as a failure and holds no place; nobody waits for it. So a rollout ends, or is breached,
//     unless clusters stay under way without a deadline or without a time, or a person is asked to resume, approve or mend the strategy.
//   - Groups start by index, the mandatory ones first. Indexes may have holes. A cluster that joins an earlier group is
//     next, whatever has been started of later ones.
//   - A strategy that cannot be followed starts nothing and gives up nobody: Step.Errors says what to mend.
//   - Only a cluster that the placement selects no longer is ever in Step.Removed. Where there is no decision at all, nobody
//     is: whether workloads go with a placement that is deleted is for the caller to say.
//
// # What its caller does
//
//  1. Read the decision (package decision), and hand over all its groups. Where a reading is torn, ask again with the next.
//  2. Give a status for every cluster that has something of the rollout, selected or not, current or outdated: who has a
//     status and is selected no longer is removed. A cluster whose copy is not the current one is StateToApply.
//  3. Stamp every status with the time at which it was entered (Since), and keep that while the state stays. Without it
//     no deadline passes, and a cluster that succeeded has soaked.
//  4. Apply to the clusters in Step.Apply, and have them stamped Progressing before asking again: a cluster that is not
//     is started again, and holds no place until it is.
//  5. Take back what was applied to the clusters in Step.Removed. Leave all others alone.
//  6. Ask again when a status, the decision or the strategy changes, and at Step.Until.
//  7. Not take Empty or Undecided for success. Show Step.Message, and Step.Unmatched, where misspelt group names are found.
package rollout
