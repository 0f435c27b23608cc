package plan

import (
	"time"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// Verb is what a call does.
type Verb string

// Verbs.
const (
	// WriteRecord creates the record if it is missing, and stores the entries.
	WriteRecord Verb = "WriteRecord"
	// DeleteRecord removes the finalizer of the record, and the record.
	DeleteRecord Verb = "DeleteRecord"
	// Apply creates or changes an object.
	Apply Verb = "Apply"
	// Release takes the label and the owner reference off an object, which stays.
	Release Verb = "Release"
	// Delete deletes an object.
	Delete Verb = "Delete"
)

// Call is one request to the member.
type Call struct {
	Verb Verb
	// Entry is the object, except for calls about the record. A Delete and a Release have its UID as precondition.
	Entry Entry
	// Manifest is what to apply.
	Manifest *object.Manifest
	// Create is whether the object did not exist, Label whether it gets the label of the record, Own whether it names the record as its owner.
	Create, Label, Own bool
	// Successor is the work that gets the label of a released object; empty where no work has it. Foreign is the record of another agent that
	// keeps the object.
	Successor, Foreign string
	// Entries is what to store in the record.
	Entries []Entry
}

// Code is why a manifest is not applied.
type Code string

// Codes. Retrying does not mend the codes for which Final is true: another manifest does, or a change of the member.
const (
	// Invalid is a manifest that the member refuses.
	Invalid Code = "Invalid"
	// Immutable is a change of a field that cannot change.
	Immutable Code = "Immutable"
	// TooLarge is an object that the member cannot store.
	TooLarge Code = "TooLarge"
	// Forbidden is a write that the executor of the work, or the agent, may not do.
	Forbidden Code = "Forbidden"
	// Conflicting is a field that another field manager owns.
	Conflicting Code = "Conflicting"
	// OwnedByWork is an object that another work keeps with another manifest.
	OwnedByWork Code = "OwnedByWork"
	// UnknownKind is a kind that the member does not serve.
	UnknownKind Code = "UnknownKind"
	// Unavailable is any other failure. Retrying may mend it.
	Unavailable Code = "Unavailable"
)

// Final returns whether retrying does not mend a failure.
func (c Code) Final() bool { return c != "" && c != Unavailable }

// State is how far a manifest is.
type State int

// States.
const (
	// Pending is a manifest whose rank is not reached.
	Pending State = iota
	// Settled is a manifest that is applied.
	Settled
	// Failed is a manifest that could not be applied.
	Failed
)

// Verdict is the outcome for one manifest.
type Verdict struct {
	State   State
	Code    Code
	Message string
	// Contended is whether another client changes the object again and again. It is put back at intervals.
	Contended bool
}

// Wait is why a pass ends before everything is done.
type Wait struct {
	Stage Stage
	// Objects is what is waited for, in order.
	Objects []object.ID
	// Until is when the next rank starts all the same.
	Until time.Time
}

// Step is what to do next. Without calls the pass is over.
type Step struct {
	Calls []Call
	// Verdicts are by the ordinal of the manifest.
	Verdicts map[int]Verdict
	// Wait is set where the pass waits for objects.
	Wait *Wait
	// Blocked has each stage with objects to wait for. The time since when it waits counts until it has none.
	Blocked []Stage
	// Overdue is what was waited for too long, in order. It is looked at again, and nothing else waits for it.
	Overdue []object.ID
	// Again is when to plan again without an event; zero for never.
	Again time.Time
	// Refused has the objects that the work may not write, or cannot. An object that another work owns is not among them: it is applied once
	// its owner leaves it.
	Refused map[object.ID]bool
	// Wake names the works that must look again, because this one leaves an object to them.
	Wake []string
	// Gone is whether nothing of the work is left on the member.
	Gone bool
}
