// Package status reports how a manager and its hub are: which replica leads, how far its queues and decisions lag, its writes beside
// their limits, certificates, and the shipped alerts with what to do.
//
// A Monitor computes the report of one replica from its own metrics, and from the rules that Prometheus gets too. Hub adds what a reader of
// the hub sees without the manager: its lease, its pods and the certificates of the API server. Nothing here writes.
package status
