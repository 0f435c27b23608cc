// Package filter owns the questions that drop clusters before any is scored: does a predicate match, does a tier, and
// is every taint tolerated. It refuses to rank. Each filter narrows a set of clusters in place and returns, for every
// cluster that fell, what it fell to.
package filter
