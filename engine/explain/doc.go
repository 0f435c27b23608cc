// Package explain renders the trace of a run for users and programs: why a cluster is selected or not, and what would change
// that. It decides only to verify a fix: a fix is a set of changes with which a run selects the cluster, and without any of
// which it does not.
package explain
