// Package explain owns the words in which a run is told to people: why a cluster is selected or not, what would change
// that, and the same as data for programs. It renders what a trace holds and never decides anew, save to prove a fix:
// a change is only proposed after a run with it, and with no less than it, has selected the cluster.
package explain
