// Package plan decides which ManifestWorks a ManifestWorkReplicaSet has, which of them change now, and what its status is.
//
// Plan takes the set, the decisions of its placements, its works and an instant, and returns ordered writes, the status and the
// instant at which to plan again. It reads no clock, keeps no state and sends nothing. The pace is that of package rollout; the
// clusters are those of package decision.
//
// # The contract
//
//   - A set has one work in each selected cluster. The first placement of the spec that selects the cluster rules its pace.
//   - A work goes only by a decision: every placement that may still select its cluster has decided, its slices are complete, and none
//     of them selects the cluster. A placement that is missing, undecided or being changed removes nothing.
//   - A work without the UID of the set is neither changed nor deleted. Works of OCM's controller for the set are adopted.
//   - A plan writes each work at most once. Every write of an existing work is fenced by its uid and resourceVersion, and every prefix
//     of the writes is harmless.
//   - A plan over its own result, with the works as they are stored, has no writes until something changes.
//
// # Duties of the caller
//
//  1. Pass the works as last stored: the cache, overlaid with the writes of this process (assumed.Cache). A work that was just created and
//     is left out is created again, which the API server refuses because its name is the same.
//  2. Pass refused writes back as Faults, until they succeed or the template changes.
//  3. Send the writes in any order and go on after a failure.
//  4. Plan again when the set, a placement, a slice or the state of a work changes, and at Result.Until.
//  5. Remove the finalizer of a deleted set only after Teardown of a live list is done.
package plan
