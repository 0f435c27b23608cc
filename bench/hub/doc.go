// Package hub runs the hubs of benchmarks: berth-hub, and a manager beside it, each in a process of its own with its own usage.
//
// It owns the processes, and reads their usage from the system and from the API server. The caller chooses the measurement. The
// invariant: every listener is on a free port of 127.0.0.1, the data is in a temporary folder, and the processes end with this
// process.
package hub
