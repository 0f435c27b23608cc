// Package fleet owns the Snapshot: an immutable, indexed picture of a fleet at one instant. It holds the clusters, the
// sets, the bindings that make sets available to namespaces, the add-on scores, and the current decisions.
//
// It does not read placements. It returns which clusters hold a term, which clusters are in a set, and how many
// placements have selected a cluster.
//
// A Snapshot never changes. Edit makes the next Snapshot from an existing one, and shares everything that it does not
// change. So a writer never waits for readers, and a simulation costs no more than its changes. One Edit belongs to one
// goroutine.
package fleet
