// Package group owns the shape of decisions: which group a selected cluster is in, and which slice of the group.
// It does not know why a cluster was selected.
//
// Membership is sticky: while the strategy stays the same, a cluster that stays selected and still qualifies stays in
// its group and in its slice, as long as the group is within its bound; newcomers fill the holes. No group that Assign
// returns is above its bound. Assigning again what was assigned moves nothing.
package group
