// Package fleet owns the Snapshot: an immutable, indexed picture of a fleet at one instant. It holds the clusters,
// the sets and bindings that say which namespace may reach them, their add-on scores, and the decisions so far.
//
// It does not read placements. It answers which clusters hold a term, which clusters are in a set, and how many
// placements have selected a cluster.
//
// A Snapshot never changes. Edit starts from one and makes the next, and shares everything that it does not change. So a
// writer never waits for readers, and a what-if costs no more than its changes. One Edit belongs to one goroutine.
package fleet
