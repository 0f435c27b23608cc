// Package history holds a manager's record of its decisions, from which it explains them: the last run of each placement,
// the causes that enqueued it, and its recent changes. If a run is not in memory, the package computes it again.
//
// It writes nothing to the API server. Invariant: it never blocks a decision. All its memory is bounded, and the oldest
// entry is dropped first. A run also holds the snapshot that it was made from, so the number of later changes bounds runs
// as well.
package history
