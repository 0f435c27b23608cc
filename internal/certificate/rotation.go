package certificate

import (
	"bytes"
	"slices"
	"time"
)

const (
	// maxRetired bounds how many authorities of former pairs stay trusted. A pair lasts 90 days, so that more than two of
	// them have not ended only where names were added again and again.
	maxRetired = 8
	// maxNames bounds the names of a pair that takes over the names of another.
	maxNames = 32
)

// rotationState is what is stored. Next may be nil, current before the first step only.
type rotationState struct {
	current, next *keyPair
	// retired are the authorities of former pairs, the latest first. They stay trusted until they end: a replica that
	// cannot read the Secret serves its last pair for as long.
	retired []caCertificate
	// revoked is the authority, as PEM, of a pair that is to be replaced at once. It stays trusted only until every replica
	// has had the time to serve another pair.
	revoked []byte
}

// caBundle returns the trust bundle.
func (s rotationState) caBundle() []byte {
	var out []byte
	for _, known := range []*keyPair{s.current, s.next} {
		if known != nil {
			out = appendCA(out, known.caBundle)
		}
	}
	for _, former := range s.retired {
		out = appendCA(out, former.pem)
	}
	return out
}

// withServed returns the state with the pair that a replica serves in the place of a current pair that is missing. Where the
// whole state is missing it was deleted, as when a key has leaked, and that pair is revoked.
func (s rotationState) withServed(served *keyPair, now time.Time) rotationState {
	if s.current != nil || !served.valid(now) {
		return s
	}
	if s.next == nil && len(s.retired) == 0 {
		s.revoked = served.caBundle
	}
	s.current = served
	return s
}

// step returns the state that follows at an instant for a server of the given names; often the same. It takes the steps
// of the package comment one at a time, save where there is nothing that could be served.
func (s rotationState) step(names []string, now time.Time, issue func([]string) (*keyPair, error)) (rotationState, error) {
	s.retired = unexpiredCAs(s.retired, now)
	switch {
	case !s.current.valid(now) && s.next.validFor(names, now):
		return s.promote(), nil
	case !s.current.valid(now):
		made, err := issue(names)
		return rotationState{current: made, retired: s.retired}, err
	case s.next != nil && !s.next.validFor(names, now):
		made, err := issue(s.names(names))
		s.next = made
		return s, err
	case s.next != nil && (s.replaceNow(names) || !now.Before(s.next.createdAt.Add(trustDelay))):
		return s.promote(), nil
	case s.next == nil && s.replaceNow(names):
		made, err := issue(s.names(names))
		s.next = made
		return s, err
	case s.next == nil && !now.Before(s.current.renewalTime()):
		made, err := issue(names)
		s.next = made
		return s, err
	default:
		return s, nil
	}
}

// replaceNow reports whether the next pair is to be served as soon as it is trusted: the current one lacks a name, or is revoked.
func (s rotationState) replaceNow(names []string) bool {
	return !s.current.covers(names) || s.isRevoked(s.current)
}

func (s rotationState) isRevoked(p *keyPair) bool {
	return s.revoked != nil && bytes.Equal(s.revoked, p.caBundle)
}

// names returns the names of a server and those that the pairs have already: replicas of two versions, each of which may
// lead, have different names for a while and must not take away each other's.
func (s rotationState) names(names []string) []string {
	out := slices.Clone(names)
	for _, known := range []*keyPair{s.current, s.next} {
		if known != nil {
			out = append(out, known.names()...)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxNames {
		return names
	}
	return out
}

// promote makes the next pair the current one.
func (s rotationState) promote() rotationState {
	out := rotationState{current: s.next, retired: s.retired, revoked: s.revoked}
	if s.current != nil {
		former := caCertificate{s.current.caBundle, s.current.notAfter}
		out.retired = append([]caCertificate{former}, s.retired[:min(len(s.retired), maxRetired-1)]...)
	}
	return out
}

// promotes reports whether, in the state that follows, the next pair has become the current one.
func (s rotationState) promotes(following rotationState) bool {
	return s.next != nil && s.next.equal(following.current)
}

// withoutRevoked returns the state without the revoked authority.
func (s rotationState) withoutRevoked() rotationState {
	s.retired = withoutCA(s.retired, s.revoked)
	s.revoked = nil
	return s
}

func (s rotationState) equal(other rotationState) bool {
	return s.current.equal(other.current) && s.next.equal(other.next) && bytes.Equal(s.revoked, other.revoked) &&
		bytes.Equal(s.caBundle(), other.caBundle())
}
