// Package celenv owns the CEL expressions of predicates, tiers and groups: which variables, functions and libraries
// they have, what they may cost, and which parts of a cluster an expression reads. It is the only importer of cel-go.
//
// It refuses to know what follows from an answer: it says yes, no, failed or too costly for one cluster.
//
// An Env and its Expressions are safe for concurrent use, and an Expression gives the same answer for the same
// cluster and scores, always.
package celenv
