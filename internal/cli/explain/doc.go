// Package explain has the commands explain and history: why a placement selects what it selects, how far the delivery is, and what changed.
//
// In go the explanation of the manager, or files that are decided here, and the reports of package rollouts; out come summaries, a report
// of one cluster, or data. It never writes to the hub.
package explain
