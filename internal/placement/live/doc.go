// Package live holds what a running manager has of its hub. Fleet has clusters, sets, bindings and scores. Stored has placements and
// slices.
//
// What goes in: the events of informers, and the writes of this process as the API server returned them. What comes out: the Input of a
// decision, and the keys of the placements that a change can affect, with its cause. It never decides, and it never sends a request. The
// decision of a placement that this process has decided is what this process stored last. It is never read from a stale cache, or from the
// write of another client.
//
// A placement's key passes it so: an event enqueues the key; Gather returns its Input; BeforeWrite, AfterWrite, AfterDelete and
// AfterStatusWrite record the writes, AfterApply what needed none; Finish ends the attempt.
//
// # Two locks
//
// Fleet and Stored have a lock each. The order is Stored, then Fleet: Stored calls Snapshot, setDecisions, setProgram, deleteProgram and
// start while it holds its lock, and Fleet never calls Stored. Stored passes to Fleet what Fleet needs to find the placements that a change
// can affect: their programs, and the clusters of placements that Berth does not decide. So a heartbeat waits for no work on placements.
//
//   - The decisions in a snapshot agree with the slices of the Input that has it. They change only under the lock of Stored, which Gather
//     holds.
//   - A snapshot has the change that enqueued the key. A change is recorded and its keys are enqueued under one lock. Gather takes both
//     locks.
//   - A change that a snapshot lacks enqueues the key again. Gather indexes the program before it reads the snapshot. A placement that
//     Berth stops to decide is reconciled after its clusters are passed to Fleet.
//   - A change enqueues a key at most once: the keys from the index and those of unmanaged placements are merged.
//
// # States of a placement
//
// Managed means that the placement is neither disabled by its annotation nor being deleted.
//
//	state         its decisions in a snapshot           how it is left
//	unknown       what the informer has                 SetPlacement: known; its slices may change their owner
//	known         what the informer has                 Gather: initialized, and in progress; the slices with its name that no other
//	                                                    placement controls count as written by this process
//	in progress   what this process stored last         Finish: settled; enqueued again if another client wrote meanwhile
//	                                                    Finish after an error: attempt lost; the caller retries
//	settled       what this process stored last         Gather: in progress; a write of another client enqueues it
//	attempt lost  what this process stored last, or     SetSlice with a content that was sent: that slice counts as written by this
//	              an attempt that the informer shows    process. AfterWrite and AfterApply: the attempts are forgotten
//	unmanaged     what the informer has                 SetPlacement, managed again: known. If Berth wrote slices of it, a change of
//	                                                    their clusters enqueues it, so that revoked clusters are removed
//	former        what the informer has                 deletion of its last slice: unknown. SetPlacement: a new placement is known. Until
//	                                                    then its slices are unmanaged
//
// A placement that is disabled, being deleted or deleted is released in any state: what this process wrote no longer counts. If an attempt
// is in progress, Finish releases the slices once more, since writes may have followed.
package live
