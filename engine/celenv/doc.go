// Package celenv owns the CEL expressions of predicates, tiers and groups: which variables, functions and libraries
// they have, what they may cost, and which parts of a cluster an expression reads. It is the only importer of cel-go.
//
// It does not decide what follows from an answer: yes, no, failed or too costly for one cluster.
//
// An Env and its Expressions are safe for concurrent use. An Expression gives the same answer for the same cluster and
// scores, always.
package celenv
