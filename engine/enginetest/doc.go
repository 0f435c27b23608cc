// Package enginetest has the shared parts of the engine's tests and benchmarks: builders of API objects, random states
// and events from a seed, and the oracle. The oracle is a second scheduler that is slow and obviously right.
//
// The oracle reads plain API objects with plain loops. It shares no code with the engine: no snapshot, index, bitset or
// cache, and nothing of the packages filter, score, selection, group and plan. Only texts that must be equal, such as the
// faults of a spec, come from the engine.
//
// All random values come from a seed, so a failure is repeated by its seed.
package enginetest
