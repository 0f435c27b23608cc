package plan

import (
	"slices"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// recorded is what the record of a work has of an object that exists.
type recorded int

const (
	// notRecorded objects have no entry: the manifest is new, or the record was lost.
	notRecorded recorded = iota
	// recordedWithoutUID objects have an entry that was stored before the object was created.
	recordedWithoutUID
	// recordedOther objects have an entry with the UID of an object that is gone.
	recordedOther
)

// marks are what else shows who created an object.
type marks uint8

const (
	// owned objects have an owner reference to the record of the work.
	owned marks = 1 << iota
	// labelled objects have the label of the works of this agent, named ones with the name of the record.
	labelled
	named
	// createdConcurrently objects were created by another client between the read of the agent and its write.
	createdConcurrently
	// shared objects were created by another work of this agent.
	shared
)

// creations are the ways in which an object shows that a work of this agent created it. In any other case the work adopts the object, and
// the object stays when the work goes.
//
//	the record has    the object has                              lacks
//	no UID yet        label                                       a creation by another client
//	no entry          owner reference                             -
//	no entry          label with the name of the record           -
//	anything          another work of this agent that created it  -
func creations() []struct {
	record []recorded
	has    marks
	lacks  marks
} {
	return []struct {
		record []recorded
		has    marks
		lacks  marks
	}{
		{record: []recorded{recordedWithoutUID}, has: labelled, lacks: createdConcurrently},
		{record: []recorded{notRecorded}, has: owned},
		{record: []recorded{notRecorded}, has: labelled | named},
		{record: []recorded{notRecorded, recordedWithoutUID, recordedOther}, has: shared},
	}
}

// createdByWork returns whether a work of this agent created an object.
func createdByWork(record recorded, of marks) bool {
	for _, way := range creations() {
		if slices.Contains(way.record, record) && of&way.has == way.has && of&way.lacks == 0 {
			return true
		}
	}
	return false
}

// marksOf returns the marks of an object that exists.
func (p *planner) marksOf(id object.ID, o Object) marks {
	var out marks
	for mark, set := range map[marks]bool{
		owned: o.Owned, labelled: o.Labelled, named: o.Named, createdConcurrently: o.CreatedConcurrently, shared: p.sharedCreation(id, o),
	} {
		if set {
			out |= mark
		}
	}
	return out
}

// sharedCreation returns whether another work of this agent created an object. Its record may not have the UID yet. An entry of a work that
// never wrote the object, while no label names a work, proves nothing: the object may have been left to its users since.
func (p *planner) sharedCreation(id object.ID, o Object) bool {
	return slices.ContainsFunc(p.in.Others[id], func(other Other) bool {
		switch {
		case !other.Recorded || other.Adopted:
			return false
		case other.UID == o.UID:
			return other.Applied || o.OtherLabel
		case other.UID == "":
			return o.OtherLabel && !o.CreatedConcurrently
		default:
			return false
		}
	})
}
