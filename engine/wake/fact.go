package wake

import "github.com/berth-project/berth/engine/fleet"

// transition is when something holds in the course of one change: before it, after it, at both times or never.
type transition uint8

const (
	holdsBefore transition = 1 << iota
	holdsAfter

	never  transition = 0
	always            = holdsBefore | holdsAfter
)

// changes reports whether something holds at one of the two times only.
func (t transition) changes() bool { return t == holdsBefore || t == holdsAfter }

// factKey identifies a fact about a label, a claim or the name. The name has no key.
type factKey struct {
	source fleet.Source
	aspect aspect
	key    string
	// value is empty unless the aspect is valueEquals.
	value string
}

type aspect uint8

const (
	// keyExists: the key has a value.
	keyExists aspect = iota
	// valueEquals: the value is this one.
	valueEquals
	// valueKept: the value is the same before and after. It is recorded only for values that change.
	valueKept
)

// fact is a condition that holds for a cluster or does not, and that a set or a subscription reads.
type fact struct {
	factKey
	// id is unique and never reused.
	id uint64
	// state is when the fact holds in the current change; never between changes.
	state transition
	// subscriptions read the fact. guarded are the subscriptions that have it as a guard.
	subscriptions, guarded bucket
	// sets counts the sets that read the fact, refs the sets and subscriptions.
	sets, refs int
}

// factTable holds every fact that is read.
type factTable struct {
	byKey map[factKey]*fact
	// lastID is the last id that was assigned.
	lastID uint64
	// held are the facts that hold before or after the current change, changed those that hold at one of the two times.
	held, changed []*fact
}

func (f *factTable) nextID() uint64 {
	f.lastID++
	return f.lastID
}

// getOrCreate returns the fact of a key. The caller counts itself in refs.
func (f *factTable) getOrCreate(key factKey) *fact {
	found := f.byKey[key]
	if found == nil {
		found = &fact{factKey: key, id: f.nextID()}
		f.byKey[key] = found
	}
	return found
}

// release drops one reference.
func (f *factTable) release(used *fact) {
	if used.refs--; used.refs == 0 {
		delete(f.byKey, used.factKey)
	}
}

// evaluate sets the state of each fact for a change of a cluster. Nil is no cluster.
func (f *factTable) evaluate(was, is *fleet.Cluster) {
	f.compareValues(fleet.Name, names(was), names(is))
	f.compareValues(fleet.Label, labels(was), labels(is))
	f.compareValues(fleet.Claim, claims(was), claims(is))
}

// compareValues sets the states for the values of one source, by key.
func (f *factTable) compareValues(source fleet.Source, was, is map[string]string) {
	for key, old := range was {
		value, stays := is[key]
		if stays && value == old {
			f.record(factKey{source, keyExists, key, ""}, always)
			f.record(factKey{source, valueEquals, key, value}, always)
			continue
		}
		f.record(factKey{source, valueKept, key, ""}, holdsBefore)
		f.record(factKey{source, valueEquals, key, old}, holdsBefore)
		if !stays {
			f.record(factKey{source, keyExists, key, ""}, holdsBefore)
			continue
		}
		f.record(factKey{source, keyExists, key, ""}, always)
		f.record(factKey{source, valueEquals, key, value}, holdsAfter)
	}
	for key, value := range is {
		if _, stood := was[key]; !stood {
			f.record(factKey{source, valueKept, key, ""}, holdsAfter)
			f.record(factKey{source, keyExists, key, ""}, holdsAfter)
			f.record(factKey{source, valueEquals, key, value}, holdsAfter)
		}
	}
}

// record sets the state of a fact, if it exists.
func (f *factTable) record(key factKey, at transition) {
	found := f.byKey[key]
	if found == nil {
		return
	}
	found.state = at
	f.held = append(f.held, found)
	if at.changes() {
		f.changed = append(f.changed, found)
	}
}

// reset ends a change.
func (f *factTable) reset() {
	for _, noted := range f.held {
		noted.state = never
	}
	clear(f.held)
	clear(f.changed)
	f.held, f.changed = f.held[:0], f.changed[:0]
}

func names(c *fleet.Cluster) map[string]string {
	if c == nil {
		return nil
	}
	return map[string]string{"": c.Name()}
}

func labels(c *fleet.Cluster) map[string]string {
	if c == nil {
		return nil
	}
	return c.Object.Labels
}

func claims(c *fleet.Cluster) map[string]string {
	if c == nil {
		return nil
	}
	return c.Claims
}
