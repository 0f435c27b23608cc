// Package filter owns the questions that drop clusters before any is scored: does a predicate match, does a tier, and
// is every taint tolerated. It refuses to rank. Each filter returns who of a set of clusters passes and, for every
// cluster that fell, what it fell to.
package filter
