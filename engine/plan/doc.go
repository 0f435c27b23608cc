// Package plan owns the step from a Result to writes: what to change of the objects that are stored, in which order,
// so that no reader who lists the slices by label at any instant misses a cluster that stays selected, counts more clusters
// than before and after allow, or sees a slice without its decisions. It is the only thing that is ever written; applying, printing and comparing all start
// from it.
//
// It refuses to decide, and to talk to anybody.
package plan
