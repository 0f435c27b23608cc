// Package bench measures a whole hub and the engine. It owns the figures: a name, a value and its details.
//
// The packages below it have one duty each. run measures, with one file per run or step of a run. hub runs a hub and its
// manager as child processes and reads their usage. inprocess measures the engine in this process. bound compares figures with
// rangespec.yaml. report prints one table. cmd/berth-bench combines them. internal/cli/generate generates the content of a hub. The
// runs use the binaries and the API of users. Only inprocess and the oracle import the engine.
//
// The invariant: a figure with a bound is a number of requests, the memory of an agent, or a ratio of two values. Both values were measured
// in the same minute on the same machine. A slow machine is slow for both sides of a ratio. Milliseconds are reported without a bound.
package bench
