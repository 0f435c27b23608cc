// Package plan decides what an agent does next for one work. It plans which objects are applied, released and deleted, and in which
// order, and what the record of the work holds before and after.
//
// Plan is pure. The caller
//
//  1. reads the record, and every object that the record or the work names,
//  2. calls Plan,
//  3. executes the calls of the step in their order, and ends the pass where a call about the record fails,
//  4. starts again, until a step has no calls.
//
// A failed call about one object is passed in again as a Failure, and stops no other object. The invariants: an object is on the
// record before it is created; only an object that this work created is deleted, with its UID as precondition. An entry leaves the
// record only when its object is gone, released or another client's.
package plan

import (
	"time"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// Limits of the waits between two ranks.
const (
	// ApplyWait is how long the objects of a rank may take until they serve the next rank.
	ApplyWait = 30 * time.Second
	// RemovalWait is the default of how long the objects of a rank may take to disappear.
	RemovalWait = 10 * time.Minute
)

// Entry is one object on the record of a work.
type Entry struct {
	ID      object.ID
	Version string
	// UID is empty from before the object is created until it has been read.
	UID string
	// Adopted is whether the object was there before the work.
	Adopted bool
	// Hash is that of the manifest that was applied last, Fields that of the fields that the agent then managed.
	Hash, Fields string
	// Completed is whether the object ran to its end with that manifest. It is not created again.
	Completed bool
}

// Object is what the agent read of an object of the member.
type Object struct {
	UID string
	// Labelled is whether the object carries the label of the record, Owned whether it names the record in its ownerReferences.
	Labelled, Owned bool
	// Named is whether it names a record of this name, which may be gone.
	Named bool
	// CreatedConcurrently is whether another client created it before a work first wrote to it. It is certain only until the work writes to it
	// again.
	CreatedConcurrently bool
	// OtherLabel is whether it carries the label of another record.
	OtherLabel bool
	// Fields is the hash of the fields that the agent manages for this work.
	Fields      string
	Terminating bool
	// Serving is whether the objects of later ranks can rely on it.
	Serving bool
	// Healthy is whether it has reached its desired state.
	Healthy bool
	// Finished is whether it ran to its end, as a Job does.
	Finished bool
	// InUse is why it must not be deleted, such as a namespace with objects of other clients; empty where it may be.
	InUse string
}

// Other is another work of this agent with the same object, or the record of another agent.
type Other struct {
	// Work is the name of the work, or of the record where it is foreign.
	Work    string
	Created time.Time
	// Hash is that of its manifest; empty where it does not write the object, or not any more.
	Hash string
	// Refused is whether its last attempt failed in a manner that a retry does not mend, as without the permission to write.
	Refused bool
	// Recorded is whether the object is on its record, with the UID and Adopted there. Applied is whether it has written the object.
	// A work that only names an object, or may not write it, does not own it.
	Recorded bool
	Applied  bool
	// Removes is whether it is about to delete the object, because its manifest or the work itself is gone.
	Removes bool
	UID     string
	Adopted bool
	// Foreign is whether the record is that of another agent, as of another hub. What its work wishes is not known, so an object on its record
	// is left to it. Marked is whether the object has the label of that record, or names it as its owner.
	Foreign, Marked bool
}

// Applied is the result of an apply of this process.
type Applied struct {
	UID, Hash, Fields string
	// CreatedConcurrently is whether another client created the object between the read and the apply. The response shows it for certain.
	CreatedConcurrently bool
}

// Failure is a call about an object that failed.
type Failure struct {
	// Hash is that of the manifest that failed. Another manifest is tried at once.
	Hash    string
	Code    Code
	Message string
	// Until is when to try again.
	Until time.Time
}

// Stage is a rank that is applied or removed.
type Stage struct {
	Rank     object.Rank
	Removing bool
}

// Input is everything that a step depends on. It is read-only.
type Input struct {
	Now time.Time
	// Work and Created identify the work among others with the same object.
	Work    string
	Created time.Time
	// Leaving is whether the work goes, and all its objects with it.
	Leaving   bool
	Manifests []object.Manifest
	// Orphan returns whether an object stays on the member when it leaves the work.
	Orphan func(object.ID) bool
	// Recorded is whether the member has a record of the work, and Record its entries.
	Recorded bool
	Record   []Entry
	// Objects has the objects that exist, Unread those that could not be read. A kind that could not be looked up is in Unread by an ID
	// without a resource.
	Objects map[object.ID]Object
	Unread  map[object.ID]Failure
	Others  map[object.ID][]Other
	Applied map[object.ID]Applied
	// Failures has the last failure of each object, Contentions the objects that other clients have changed.
	Failures    map[object.ID]Failure
	Contentions map[object.ID]Contention
	// RemovalWait is how long the objects of a rank may take to disappear; 0 is the constant of this name.
	RemovalWait time.Duration
	// Since is when each stage began to wait. A stage stays in it while it is blocked.
	Since map[Stage]time.Time
}
