// Package rollout decides which clusters of a placement get a change next. Next takes a strategy, the decision groups and
// the status of each cluster, and returns a Step. The package owns the pace of a rollout. What is rolled out, how it is
// applied and what counts as success are up to the caller. Next keeps no state and reads no clock: the same arguments give
// the same step, so a controller continues after a restart where it stopped.
//
// # The contract
//
//   - A cluster starts only when maxConcurrency leaves room, every group that must be done before is done, its group is
//     approved, and the rollout is neither paused nor breached.
//   - When more clusters failed than maxFailures, no more clusters start. Started clusters are left as they are: a Step
//     never rolls back.
//   - A failed cluster counts as a failure, takes no room, and no group waits for it. A rollout therefore finishes or is
//     breached, unless clusters stay under way without a deadline or without a time, or the strategy needs a user to resume,
//     approve or correct it.
//   - Groups start by index, mandatory groups first. Indexes may have gaps. A cluster that joins an earlier group starts next,
//     even when later groups have started.
//   - An invalid strategy starts no cluster and times out no cluster. Step.Errors has the fields to correct.
//   - Step.Removed has only clusters that the placement no longer selects. It is empty when the placement has no decision at
//     all: the caller decides whether workloads go with a deleted placement.
//
// # Duties of the caller
//
//  1. Read the decision with package decision and pass it on with GroupsOf. When the reading is inconsistent, wait for the
//     next one before applying.
//  2. Pass a status for every cluster that has something of the rollout, selected or not, current or outdated. A cluster that
//     has a status and is no longer selected is removed. A cluster with an outdated copy is StateToApply.
//  3. Set Since of every status to the time at which the state was entered, and keep it while the state stays. Without it no
//     deadline passes, and a succeeded cluster counts as soaked.
//  4. Apply to the clusters in Step.Apply and record them as Progressing before the next call. A cluster that is not recorded
//     starts again, and takes no room until it is.
//  5. Take back what was applied to the clusters in Step.Removed. Leave all other clusters alone.
//  6. Call again when a status, the decision or the strategy changes, and after Step.RequeueAfter.
//  7. Do not report the phases Empty and Undecided as success. Show Step.Message, and Step.Unmatched: it has misspelt groups.
package rollout
