// Package group owns the shape of decisions: which group a selected cluster is in, and which slice of the group.
// It refuses to know why a cluster was selected.
//
// Membership is sticky: while the strategy stays the same, a cluster that stays selected and still qualifies stays in
// its group and in its slice; newcomers fill the holes. Assigning again what was assigned moves nothing.
package group
