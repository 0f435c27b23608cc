// Package enginetest owns what tests and benchmarks of the engine share: builders of API objects, random worlds and
// random events from a seed, and the oracle, a second scheduler that is slow and obviously right.
//
// The oracle reads plain API objects with plain loops. It refuses to share code with the engine: no snapshot, no
// index, no bitset, no cache, nothing of the packages filter, score, selection, group and plan. Where both must say
// the same words (what exactly is wrong with a spec), only the words are taken from the engine, never the judgement.
//
// Everything random comes from a seed, so a failure is run again by its number alone.
package enginetest
