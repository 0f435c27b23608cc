package certificate

import "time"

// fileState is what a replica knows of the pairs in files. Next and former may be nil.
type fileState struct {
	current, next, former *pair
}

// authorities returns the trust bundle.
func (s fileState) authorities() []byte {
	var out []byte
	for _, known := range []*pair{s.current, s.next, s.former} {
		if known != nil {
			out = joined(out, known.authority)
		}
	}
	return out
}

// take returns the state that follows when files hold a pair at an instant, whose since is that instant. Where another
// program registers its authorities it is served at once.
func (s fileState) take(read *pair, now time.Time) fileState {
	switch {
	case s.current == nil:
		return fileState{current: read}
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
		return fileState{current: s.next, former: s.current}
	}
	return s
}

// due is when the next pair is served: after the overlap, or earlier where the current one ends, but not before the leader
// could register it while the current one lasts.
func (s fileState) due() time.Time {
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
