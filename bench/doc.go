// Package bench owns what a benchmark of a whole hub says: figures, with a name, a value and what it was made from.
//
// Around it lie, each with one duty: internal/generate draws what a hub holds; hub runs a hub and its manager as processes of
// their own and reads what they used; process decides in this one; run measures, one file per run or step of a story; bound
// holds figures against rangespec.yaml; report prints one table; cmd/berth-bench puts them together. But for process and the
// oracle, which says on a sample whether what is stored is right, none knows how Berth works inside: they use the binaries that
// users have, over the API that users have.
//
// The invariant: a figure with a bound is a ratio of two things that were measured beside each other in the same minute
// on the same machine, or a number of requests. A slow machine is slow for both sides of a ratio; milliseconds are told
// and never judged.
package bench
