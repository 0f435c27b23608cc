// Package takeover turns the controllers of Open Cluster Management on a hub off, so that Berth takes their place, and on again.
//
// It owns the record of a takeover: what was turned off, and a fingerprint of every decision and work as they were when nothing wrote
// them. The record is on the hub, so that any administrator may verify the takeover or undo it. It starts and stops no manager of Berth.
//
// The invariant: nothing is turned off before the record has it, and the record goes only after everything is on again.
package takeover
