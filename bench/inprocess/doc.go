// Package inprocess measures the engine in one process and one goroutine, at sizes far beyond a hub of one machine.
//
// It owns the state of a manager: the objects, the snapshot, the programs, the index and the decisions. It decides every
// placement as a manager does, with one edit of the snapshot per decision, so that each decision counts for the next. It needs
// no hub. The invariant: the oracle repeats a sample of the decisions of each run, and the run fails on a difference.
package inprocess
