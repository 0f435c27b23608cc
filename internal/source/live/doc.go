// Package live owns the bridge from a running API server to the engine: it keeps one fleet.Snapshot abreast of the
// informers, knows what Berth itself stored before the informers do, and says whom a change can touch.
//
// It refuses to decide and to write. One invariant: for a placement that this process has decided, the decisions in
// the snapshot are what this process last stored, never what a stale cache or a stranger says.
package live
