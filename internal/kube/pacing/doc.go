// Package pacing has what the planners of rollouts share: what the decision of a placement is worth, how a step is stopped,
// and how messages name clusters.
//
// It plans nothing and sends nothing: packages delivery and addon do. The invariant: only a complete reading lets an object go.
package pacing
