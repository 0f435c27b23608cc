// Package evidence runs a rollout by what its clusters have shown: it keeps the record of what started, succeeded, failed, was lost and
// left, and gets from package rollout the next step of each placement.
//
// In: the stored record, the placements with their groups, the state of each cluster, what is known of the members, and an instant. Out:
// a step for each placement, the next record, and the clusters that have to be written again. It reads no clock, keeps no state and
// sends nothing.
//
// # The rules
//
//   - A cluster is in flight from its start until it has succeeded for minSuccessTime by the clock of the manager, without another report,
//     with a sign of life after it. Time in which no manager watched makes the soak longer.
//   - A cluster that failed counts as a failure until it succeeds with the same change, or a person forgives it.
//   - A cluster that is no longer selected before it succeeded is lost, and counts as a failure. It has left, and does not count, if it was
//     healthy when it was deleted, denied or dropped by an edit of the placement. An edit does not excuse a cluster that was tainted since
//     it started.
//   - A mandatory group is passed by the clusters that it had when it was opened: at least one has succeeded, and no cluster is left to
//     start, under way, failed or lost. A person may pass it too.
//   - A breach of one placement holds all placements, also after it was taken out.
//   - The rollout has finished when no cluster is left to start or under way, and no cluster is missing: as many have started as were
//     selected at the start, with those that edits added. A selection that shrinks finishes nothing; a person may let it finish without
//     the missing. Nothing breaches it from then on.
//
// # Duties of the caller
//
//  1. Store the record before a cluster of Output.Begins gets the change.
//  2. Give the change to the clusters of Output.Restart: they are on record and lack it.
//  3. Call again when anything of the input changes, and at Output.Until.
package evidence
