// Package process measures the engine in one process and one goroutine, far beyond the size of a hub that fits a machine.
//
// It owns what a manager holds of a fleet: the objects, the snapshot, the programs, the index, and what was decided. It
// decides every placement as a manager does, one edit of the snapshot for each, so that what one has chosen counts for
// the next. It refuses to know a hub. The invariant: a figure is told of decisions alone that are those of the oracle, as
// a sample of each run shows; where one differs, the run fails.
package inprocess
