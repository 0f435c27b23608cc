// Package filter owns the filters that reject clusters before any is scored: predicates, tiers and taints. It does not
// rank. Each filter returns the clusters that pass and, for every other cluster, the reason.
package filter
