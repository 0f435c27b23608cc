package certificate

import (
	"bytes"
	"slices"
	"time"
)

const (
	// maxRetired bounds the CAs of former key pairs that stay trusted. Usually there are at most two, since a key pair lasts 90
	// days; each added name makes one more.
	maxRetired = 8
	// maxNames bounds the names of a key pair, including the names of earlier key pairs.
	maxNames = 32
)

// rotationState is the content of the Secret. next may be nil, and current only before the first step.
type rotationState struct {
	current, next *keyPair
	// retired are the CAs of former key pairs, the latest first. They stay trusted until they expire, since a replica that
	// cannot read the Secret keeps serving its last key pair.
	retired []caCertificate
	// revoked is the CA, as PEM, of a key pair that must be replaced at once. It stays trusted only until every replica has had
	// the time to serve another key pair.
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

// withServed replaces a missing current key pair by the served one. An empty state means that the Secret was deleted, for
// example because the key leaked: then the served key pair is revoked.
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

// step returns the next state for the server names, often the same state. It takes one step of the package comment at a
// time, unless the state has no valid key pair.
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

// replaceNow reports whether the current key pair lacks a name or is revoked, so that the next one is served as soon as it is trusted.
func (s rotationState) replaceNow(names []string) bool {
	return !s.current.covers(names) || s.isRevoked(s.current)
}

func (s rotationState) isRevoked(p *keyPair) bool {
	return s.revoked != nil && bytes.Equal(s.revoked, p.caBundle)
}

// names returns the server names and those of the existing key pairs. During an upgrade, replicas of two versions have different
// names, and either may lead: neither may remove the names of the other.
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

// promote makes the next key pair the current one.
func (s rotationState) promote() rotationState {
	out := rotationState{current: s.next, retired: s.retired, revoked: s.revoked}
	if s.current != nil {
		former := caCertificate{s.current.caBundle, s.current.notAfter}
		out.retired = append([]caCertificate{former}, s.retired[:min(len(s.retired), maxRetired-1)]...)
	}
	return out
}

// promotes reports whether the next key pair is the current one of the following state.
func (s rotationState) promotes(following rotationState) bool {
	return s.next != nil && s.next.equal(following.current)
}

// withoutRevoked returns the state without the revoked CA.
func (s rotationState) withoutRevoked() rotationState {
	s.retired = withoutCA(s.retired, s.revoked)
	s.revoked = nil
	return s
}

func (s rotationState) equal(other rotationState) bool {
	return s.current.equal(other.current) && s.next.equal(other.next) && bytes.Equal(s.revoked, other.revoked) &&
		bytes.Equal(s.caBundle(), other.caBundle())
}
