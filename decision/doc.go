// Package decision reads what a placement decided. It returns the clusters by group (Decisions) from the slices
// (PlacementDecisions) of a placement, the changes between two readings, and whether a reading is inconsistent because the
// slices were being changed.
//
// It reads from a lister, from a client, or from objects; a Tracker takes the events of a watch. It imports nothing of the
// engine.
//
// # What a reading promises
//
//   - A cluster that stays selected is in every reading: the hub adds it to its new slice before it removes it from the old
//     one. A cluster that is missing has left, and its workload may go.
//   - A cluster that moves is in two slices for a moment. It is in the Decisions once, in the first of its groups by index,
//     and Inconsistencies reports it.
//   - No group is lost: indexes may have gaps, and a slice without a valid index is in a group with NoIndex.
//
// # Duties of the caller
//
//  1. Act on Decisions as they are. Adding and removing clusters is safe with an inconsistent reading. Only the groups of clusters
//     may still change, so a caller that depends on groups waits for the next event when Inconsistent is true.
//  2. Compare with the status of the placement (Disagreements) where a decision must be complete.
//  3. Do not change objects while they are read. Decisions keep no reference to them.
package decision
