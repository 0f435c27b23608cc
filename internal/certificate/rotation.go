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
	var out [][]byte
	for _, known := range []*pair{s.current, s.next, s.former} {
		if known != nil {
			out = append(out, known.authority)
		}
	}
	return bytes.Join(out, nil)
}

// step returns the state that follows at an instant for a server of the given names; often the same. It takes the steps
// of the package comment one at a time, save where there is nothing that could be served.
func (s state) step(names []string, now time.Time, issue func([]string) (*pair, error)) (state, error) {
	if s.former != nil && !now.Before(s.former.until) {
		s.former = nil
	}
	switch {
	case s.current == nil || !s.current.serves(names, now):
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

func (s state) same(other state) bool {
	return s.current.same(other.current) && s.next.same(other.next) && s.former.same(other.former)
}
