// Package enginetest has what tests and benchmarks of the engine share: builders of API objects, random worlds and events from a
// seed, and the oracle, a second scheduler that is slow and obviously right.
//
// The oracle reads plain API objects with plain loops. It shares no code with the engine: no snapshot, index, bitset or cache,
// and nothing of the packages filter, score, selection, group and plan. Only texts that must be equal, such as the faults of a
// spec, come from the engine.
//
// Everything random comes from a seed, so a failure is repeated by its seed.
package enginetest
