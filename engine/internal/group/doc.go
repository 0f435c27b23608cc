// Package group owns the shape of decisions: which group a selected cluster is in, and which slice of the group. It does
// not select clusters.
//
// Membership is sticky: while the strategy stays the same, a selected cluster that still qualifies stays in its group and
// in its slice, as long as the group is within its bound. Newcomers fill the gaps. Assign returns no group above its
// bound. Assigning the result again moves no cluster.
package group
