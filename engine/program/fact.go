package program

import "github.com/berth-project/berth/engine/fleet"

// times is when something holds in the course of one change: before it, after it, or both.
type times uint8

const (
	earlier times = 1 << iota
	later

	never  times = 0
	always       = earlier | later
)

// differs says whether something holds at one of the two times only.
func (t times) differs() bool { return t == earlier || t == later }

// question is what a fact answers: of a label, a claim or the name, which has no key.
type question struct {
	source fleet.Source
	about  aspect
	key    string
	// value is empty unless the question is whether the value is this one.
	value string
}

type aspect uint8

const (
	// anyValue asks whether there is a value.
	anyValue aspect = iota
	// thisValue asks whether it is a certain one.
	thisValue
	// sameValue asks whether it is the value that it was, or will be. It is told of those alone that change.
	sameValue
)

// fact is something that holds for a cluster or does not, and that somebody reads.
type fact struct {
	question
	// number is never given to another fact.
	number uint64
	// held is when it holds in the change that is looked at, never while none is.
	held times
	// readers read the fact. gated are those of them to whom a change matters only where one of their gates holds, this
	// being one.
	readers, gated shelf
	// sets is how many sets read the fact, users how many sets and readers do.
	sets, users int
}

// facts are all that somebody reads.
type facts struct {
	answers map[question]*fact
	// numbered is the last number that was given to anything.
	numbered uint64
	// held are the facts that hold in the change that is looked at, changed those of them that hold at one time only.
	held, changed []*fact
}

func (f *facts) number() uint64 {
	f.numbered++
	return f.numbered
}

// of returns the fact that answers a question. Whoever keeps it counts as a user until he quits.
func (f *facts) of(q question) *fact {
	found := f.answers[q]
	if found == nil {
		found = &fact{question: q, number: f.number()}
		f.answers[q] = found
	}
	return found
}

// quit ends one use of a fact.
func (f *facts) quit(used *fact) {
	if used.users--; used.users == 0 {
		delete(f.answers, used.question)
	}
}

// look notes which facts hold of a cluster before a change and after it. Nil is no cluster.
func (f *facts) look(was, is *fleet.Cluster) {
	f.compare(fleet.Name, names(was), names(is))
	f.compare(fleet.Label, labels(was), labels(is))
	f.compare(fleet.Claim, claims(was), claims(is))
}

// compare looks at the values of one source, by key.
func (f *facts) compare(source fleet.Source, was, is map[string]string) {
	for key, old := range was {
		value, stays := is[key]
		if stays && value == old {
			f.note(question{source, anyValue, key, ""}, always)
			f.note(question{source, thisValue, key, value}, always)
			continue
		}
		f.note(question{source, sameValue, key, ""}, earlier)
		f.note(question{source, thisValue, key, old}, earlier)
		if !stays {
			f.note(question{source, anyValue, key, ""}, earlier)
			continue
		}
		f.note(question{source, anyValue, key, ""}, always)
		f.note(question{source, thisValue, key, value}, later)
	}
	for key, value := range is {
		if _, stood := was[key]; !stood {
			f.note(question{source, sameValue, key, ""}, later)
			f.note(question{source, anyValue, key, ""}, later)
			f.note(question{source, thisValue, key, value}, later)
		}
	}
}

// note notes when a fact holds, if anybody reads it.
func (f *facts) note(q question, at times) {
	asked := f.answers[q]
	if asked == nil {
		return
	}
	asked.held = at
	f.held = append(f.held, asked)
	if at.differs() {
		f.changed = append(f.changed, asked)
	}
}

// forget ends the look at a change.
func (f *facts) forget() {
	for _, noted := range f.held {
		noted.held = never
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
