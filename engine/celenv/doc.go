// Package celenv owns the CEL expressions of predicates, tiers and groups: their variables, functions and libraries,
// their cost limits, and the parts of a cluster that an expression reads. It is the only importer of cel-go.
//
// It does not decide what follows from an answer: yes, no, failed or too costly for one cluster.
//
// An Env and its Expressions are safe for concurrent use. An Expression always gives the same answer for the same cluster
// and scores.
package celenv
