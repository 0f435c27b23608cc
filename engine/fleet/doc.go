// Package fleet owns the Snapshot: an immutable, indexed picture of a fleet at one instant. It holds the clusters,
// the sets and bindings that say which namespace may reach them, their add-on scores, and the decisions so far.
//
// It refuses to know what a placement wants: it answers only "which clusters hold this term", "who is in this set"
// and "how often was this cluster chosen".
//
// A Snapshot never changes. Edit starts from one and makes the next, sharing all that it does not touch, so a writer
// never waits for readers and a what-if costs no more than its changes. One Edit belongs to one goroutine.
package fleet
