// Package record owns what a manager remembers of its own decisions, so that it can say why: the last run of each
// placement, what woke it, and how its decisions changed of late. Where a run is not remembered it makes one again.
//
// It refuses to know who decides and who asks, and it never writes. One invariant: nobody waits for it. Whoever decides
// puts in what is done already, and everything here has a bound beyond which the oldest is dropped. What a run holds of the
// fleet as it was counts: it is bounded by how much has changed since.
package record
