// Package decision is for those who act on what a placement decided: it reads the slices (PlacementDecisions) of a
// placement as one Set of clusters by group, tells what has changed between two readings, and whether a reading caught
// the slices in the middle of a change.
//
// It reads from a lister, from a client, or from objects in hand; a Tracker takes the events of a watch. It refuses to
// know who decides, and imports none of it.
//
// # What a reading promises
//
//   - A cluster that stays selected is in every reading: the hub adds it to its new slice before it takes it out of the
//     old one. So a cluster that is missing has left, and its workload may go.
//   - A cluster that is moving is in two slices for a moment. It is in the Set once, in the first of its groups by
//     index; Tears tells of it.
//   - No group is lost: indexes may have holes, and a slice whose index cannot be read is in a group with NoIndex.
//
// # What its caller does
//
//  1. Act on a Set as it is. A torn one is safe for adding and removing clusters; only who is in which group may still
//     change, so whoever goes by groups waits for the next event where Torn says so.
//  2. Compare with the status of the placement (Disagreements) where a decision must have been written to its end.
//  3. Treat objects as read-only while a Set is made of them. A Set keeps no reference to them.
package decision
