package certificate

import "time"

// fileState holds the key pairs that a replica has read from files. next and previous may be nil.
type fileState struct {
	current, next, previous *keyPair
}

// caBundle returns the trust bundle.
func (s fileState) caBundle() []byte {
	var out []byte
	for _, known := range []*keyPair{s.current, s.next, s.previous} {
		if known != nil {
			out = appendCA(out, known.caBundle)
		}
	}
	return out
}

// observe returns the state after a key pair was read at an instant, which is its createdAt. Without a CA file the key pair
// becomes the current one at once.
func (s fileState) observe(read *keyPair, now time.Time) fileState {
	switch {
	case s.current == nil:
		return fileState{current: read}
	case read.equal(s.current):
		s.current, s.next = read.withAgeOf(s.current), nil
	case read.equal(s.next):
		s.next = read.withAgeOf(s.next)
	default:
		s.next = read
	}
	if s.previous != nil && !now.Before(s.current.createdAt.Add(2*trustDelay)) {
		s.previous = nil
	}
	if s.next != nil && (len(read.caBundle) == 0 || !now.Before(s.nextServedAt())) {
		return fileState{current: s.next, previous: s.current}
	}
	return s
}

// nextServedAt is when the next key pair becomes the current one. That is after the delay, or earlier if the current one
// expires. It is not before the leader could publish its CA while the current one is valid.
func (s fileState) nextServedAt() time.Time {
	out := s.next.createdAt.Add(trustDelay)
	if ends := laterOf(s.current.notAfter.Add(-expiryMargin), s.next.createdAt.Add(2*pollInterval)); ends.Before(out) {
		out = ends
	}
	if s.current.notAfter.Before(out) {
		out = s.current.notAfter
	}
	return out
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
