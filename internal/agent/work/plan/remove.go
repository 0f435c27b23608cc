package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// HandoverWait is when to look again at an object that another work takes over. Both works do, so it bounds how often they wake each other.
const HandoverWait = 2 * time.Second

// disappearWait is when to look again at an object that is being deleted. It may not be watched.
const disappearWait = time.Minute

// fate is what becomes of an object that its work does not name any more.
type fate int

const (
	// drop: the object is gone, or another client's.
	drop fate = iota
	// unread: nothing is known about it, or another work is about to take it over.
	unread
	// release: it stays, without the marks of the work.
	release
	// remove: it is deleted.
	remove
	// disappear: it is being deleted.
	disappear
)

// remove plans the removal of entries, the last rank first, and returns the entries that must stay on the record. A rank starts once the
// rank before it is gone, or has been waited for.
func (p *planner) remove(entries []Entry) []Entry {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(object.RankOf(b.ID), object.RankOf(a.ID)) })
	var left []Entry
	for len(entries) > 0 {
		rank := object.RankOf(entries[0].ID)
		end := slices.IndexFunc(entries, func(entry Entry) bool { return object.RankOf(entry.ID) != rank })
		if end < 0 {
			end = len(entries)
		}
		var waiting []object.ID
		for _, entry := range entries[:end] {
			stays, blocks := p.removeOne(entry)
			if stays {
				left = append(left, entry)
			}
			if blocks {
				waiting = append(waiting, entry.ID)
			}
		}
		entries = entries[end:]
		if p.wait(Stage{Rank: rank, Removing: true}, waiting, cmp.Or(p.in.RemovalWait, RemovalWait)) {
			return append(left, entries...)
		}
	}
	return left
}

// removeOne plans one entry, and returns whether it stays on the record and whether the next rank waits for it.
func (p *planner) removeOne(entry Entry) (stays, blocks bool) {
	o := p.in.Objects[entry.ID]
	call := Call{Verb: Delete, Entry: withUID(entry, o.UID)}
	switch p.fate(entry, o) {
	case unread:
		p.again(cmp.Or(p.in.Unread[entry.ID].Until, p.in.Now.Add(HandoverWait)))
		return true, true
	case disappear:
		p.again(p.in.Now.Add(disappearWait))
		return true, true
	case release:
		if !o.Labelled && !o.Owned {
			return false, false
		}
		call.Foreign = p.heir(entry.ID, o.UID).Work
		if call.Verb = Release; !entry.Adopted {
			call.Successor = p.successor(entry.ID, o.UID)
		}
	case remove:
	default:
		return false, false
	}
	if failure, ok := p.in.Failures[entry.ID]; ok && p.in.Now.Before(failure.Until) {
		p.again(failure.Until)
	} else {
		p.step.Calls = append(p.step.Calls, call)
	}
	return true, call.Verb == Delete
}

func withUID(entry Entry, uid string) Entry {
	entry.UID = uid
	return entry
}

func (p *planner) fate(entry Entry, o Object) fate {
	_, exists := p.in.Objects[entry.ID]
	_, failed := p.in.Unread[entry.ID]
	switch {
	case failed:
		return unread
	case !exists:
		return drop
	case !o.Labelled && !o.Owned: // it was released, or another client took the marks off
		return drop
	case entry.UID == "" && (!o.Labelled || o.CreatedConcurrently), entry.UID != "" && entry.UID != o.UID:
		return release // another object with a copy of the marks, or an object of another client
	case entry.Adopted, o.InUse != "", p.orphans(entry.ID), p.successor(entry.ID, o.UID) != "":
		return release
	case o.Terminating:
		return disappear
	case p.heir(entry.ID, o.UID).Work != "":
		return p.handover(entry.ID, p.heir(entry.ID, o.UID))
	case p.expected(entry.ID): // it is released once the other work has applied it
		return unread
	default:
		return remove
	}
}

// heir returns the record of another agent that lists an object, first one with its marks on the object; empty without one.
func (p *planner) heir(id object.ID, uid string) Other {
	var out Other
	for _, other := range p.in.Others[id] {
		if other.Foreign && (other.UID == "" || other.UID == uid) && (out.Work == "" || other.holds() && !out.holds()) {
			out = other
		}
	}
	return out
}

// holds returns whether the record of another agent keeps an object for certain. What it created and has no mark of it is about to be
// applied by that agent, or was just released by it.
func (o *Other) holds() bool { return o.Marked || o.Adopted }

// handover returns what becomes of an object that another agent has on its record. An object that it does not hold is left to it as well,
// but only after the wait: of two works that go at one time, the last deletes what they share.
func (p *planner) handover(id object.ID, heir Other) fate {
	since, waits := p.in.Since[Stage{Rank: object.RankOf(id), Removing: true}]
	if heir.holds() || waits && !p.in.Now.Before(since.Add(cmp.Or(p.in.RemovalWait, RemovalWait))) {
		return release
	}
	return unread
}

// successor returns the first other work that has an object on its record, has applied it and keeps it; empty where no work does. Of two
// works that drop an object, neither leaves it to the other.
func (p *planner) successor(id object.ID, uid string) string {
	var out string
	for _, other := range p.in.Others[id] {
		if !other.Foreign && other.Recorded && other.Applied && !other.Removes && other.UID == uid && (out == "" || other.Work < out) {
			out = other.Work
		}
	}
	return out
}

// expected returns whether another work is about to apply an object, and wakes these works. A work that was refused is not waited for: it
// may never be permitted.
func (p *planner) expected(id object.ID) bool {
	out := false
	for _, other := range p.in.Others[id] {
		if other.Hash != "" && !other.Refused {
			out, p.step.Wake = true, append(p.step.Wake, other.Work)
		}
	}
	return out
}
