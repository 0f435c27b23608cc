package program

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// reader is all placements that read the same: a change touches all of them or none.
type reader struct {
	// turn is the last change that was looked at. It stands beside what is asked first.
	turn uint64
	reading

	text    string
	members []fleet.Key
	places  []place
}

// seat is where a placement is among those that read the same.
type seat struct {
	*reader
	at int
}

// join puts a placement among those that read the same.
func (x *Index) join(read reading, key fleet.Key) seat {
	x.text = read.appendText(x.text[:0])
	found := x.readers[string(x.text)]
	if found == nil {
		found = &reader{reading: read, text: string(x.text)}
		x.readers[found.text] = found
		x.file(found)
	}
	found.members = append(found.members, key)
	return seat{found, len(found.members) - 1}
}

// leave takes a placement from its seat, which the last one gets.
func (x *Index) leave(s seat) {
	last := len(s.members) - 1
	if s.at != last {
		filler := s.members[last]
		s.members[s.at] = filler
		x.namespaces[filler.Namespace].seats[filler.Name] = s
	}
	s.members[last] = fleet.Key{}
	if s.members = s.members[:last]; last > 0 {
		return
	}
	delete(x.readers, s.text)
	x.discard(s.reader)
}

// file puts a reader on the shelf of everything it reads.
func (x *Index) file(r *reader) {
	r.file(&r.scope.readers)
	for f := range r.facts() {
		f.users++
		r.file(&f.readers)
	}
	if gates, ok := r.gates(); ok {
		for _, l := range gates {
			r.file(&l.gated)
		}
	} else {
		r.file(&x.open)
	}
	if r.traits.has(byCPU) {
		r.file(&x.cpu)
	}
	if r.traits.has(byMemory) {
		r.file(&x.memory)
	}
	if r.traits.has(counting) {
		r.file(&x.counting)
	}
	for facet := range r.facets.Each() {
		r.file(x.facets.at(facet))
	}
	for _, score := range r.scores {
		r.file(x.scores.at(score))
	}
	r.places = slices.Clone(r.places) // there are many readers: they hold no more than they need
}

// discard forgets a reader, and what nobody else reads.
func (x *Index) discard(r *reader) {
	r.unfile()
	for f := range r.facts() {
		x.facts.quit(f)
	}
	for _, score := range r.scores {
		x.scores.tidy(score)
	}
	if s := r.scope; len(s.readers) == 0 {
		x.drop(s)
	}
}
