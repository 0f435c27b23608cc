package program

import "github.com/berth-project/berth/engine/fleet"

// transition is when something holds in the course of one change: before it, after it, or both.
type transition uint8

const (
	holdsBefore transition = 1 << iota
	holdsAfter

	never  transition = 0
	always            = holdsBefore | holdsAfter
)

// changes says whether something holds at one of the two times only.
func (t transition) changes() bool { return t == holdsBefore || t == holdsAfter }

// factKey is what a fact answers: of a label, a claim or the name, which has no key.
type factKey struct {
	source fleet.Source
	aspect aspect
	key    string
	// value is empty unless the question is whether the value is this one.
	value string
}

type aspect uint8

const (
	// keyExists asks whether there is a value.
	keyExists aspect = iota
	// valueEquals asks whether it is a certain one.
	valueEquals
	// valueKept asks whether it is the value that it was, or will be. It is told of those alone that change.
	valueKept
)

// fact is something that holds for a cluster or does not, and that somebody reads.
type fact struct {
	factKey
	// id is never given to another fact.
	id uint64
	// state is when it holds in the change that is looked at, never while none is.
	state transition
	// subscriptions read the fact. gated are those of them to whom a change matters only where one of their gates holds, this
	// being one.
	subscriptions, guarded bucket
	// sets is how many sets read the fact, users how many sets and readers do.
	sets, refs int
}

// factTable are all that somebody reads.
type factTable struct {
	byKey map[factKey]*fact
	// lastID is the last number that was given to anything.
	lastID uint64
	// held are the facts that hold in the change that is looked at, changed those of them that hold at one time only.
	held, changed []*fact
}

func (f *factTable) nextID() uint64 {
	f.lastID++
	return f.lastID
}

// getOrCreate returns the fact that answers a question. Whoever keeps it counts as a user until he quits.
func (f *factTable) getOrCreate(q factKey) *fact {
	found := f.byKey[q]
	if found == nil {
		found = &fact{factKey: q, id: f.nextID()}
		f.byKey[q] = found
	}
	return found
}

// release ends one use of a fact.
func (f *factTable) release(used *fact) {
	if used.refs--; used.refs == 0 {
		delete(f.byKey, used.factKey)
	}
}

// evaluate notes which facts hold of a cluster before a change and after it. Nil is no cluster.
func (f *factTable) evaluate(was, is *fleet.Cluster) {
	f.compareValues(fleet.Name, names(was), names(is))
	f.compareValues(fleet.Label, labels(was), labels(is))
	f.compareValues(fleet.Claim, claims(was), claims(is))
}

// compareValues looks at the values of one source, by key.
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

// record notes when a fact holds, if anybody reads it.
func (f *factTable) record(q factKey, at transition) {
	asked := f.byKey[q]
	if asked == nil {
		return
	}
	asked.state = at
	f.held = append(f.held, asked)
	if at.changes() {
		f.changed = append(f.changed, asked)
	}
}

// reset ends the look at a change.
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
