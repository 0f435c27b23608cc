package certificate

import (
	"bytes"
	"time"
)

// state is what is stored. Next and former may be nil, current before the first step only.
type state struct {
	current, next, former *pair
}

// authorities returns whom to trust.
func (s state) authorities() []byte {
	var out []byte
	for _, known := range []*pair{s.current, s.next, s.former} {
		if known != nil && !bytes.Contains(out, known.authority) {
			out = append(out, known.authority...)
		}
	}
	return out
}

// step returns the state that follows at an instant for a server of the given names; often the same. It takes the steps
// of the package comment one at a time, save where there is nothing that could be served.
func (s state) step(names []string, now time.Time, issue func([]string) (*pair, error)) (state, error) {
	if s.former != nil && !now.Before(s.former.until) {
		s.former = nil
	}
	switch {
	case !s.serves(names, now):
		if s.next != nil && s.next.serves(names, now) {
			return state{current: s.next}, nil
		}
		made, err := issue(names)
		return state{current: made}, err
	case s.next != nil && !s.next.serves(names, now):
		s.next = nil // another name has come: make one that has it
		return s, nil
	case s.next != nil && !now.Before(s.next.since.Add(overlap)):
		return state{current: s.next, former: s.current}, nil
	case s.next == nil && !now.Before(s.current.due()):
		made, err := issue(names)
		s.next = made
		return s, err
	default:
		return s, nil
	}
}

// serves says whether a server of all these names can use the current pair at an instant.
func (s state) serves(names []string, now time.Time) bool {
	return s.current != nil && s.current.serves(names, now)
}

// promoted says whether, in the state that follows, the next pair has become the current one.
func (s state) promoted(following state) bool {
	return s.next != nil && s.next.same(following.current)
}

// take returns the state that follows when files hold a pair at an instant, whose since is that instant. Where nobody
// needs to be told of its authorities it is served at once.
func (s state) take(read *pair, now time.Time) state {
	switch {
	case s.current == nil:
		return state{current: read}
	case read.same(s.current):
		s.current, s.next = read.of(s.current), nil
	case read.same(s.next):
		s.next = read.of(s.next)
	default:
		s.next = read
	}
	if s.former != nil && !now.Before(s.current.since.Add(2*overlap)) {
		s.former = nil
	}
	if s.next != nil && (len(read.authority) == 0 || !now.Before(s.due())) {
		return state{current: s.next, former: s.current}
	}
	return s
}

// due is when the next pair that was found in files is served: after the overlap, or earlier where the current one ends,
// but not before anybody could be told of it while the current one lasts.
func (s state) due() time.Time {
	out := s.next.since.Add(overlap)
	if ends := later(s.current.until.Add(-closing), s.next.since.Add(2*look)); ends.Before(out) {
		out = ends
	}
	if s.current.until.Before(out) {
		out = s.current.until
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s state) same(other state) bool {
	return s.current.same(other.current) && s.next.same(other.next) && s.former.same(other.former)
}
