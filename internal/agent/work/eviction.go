package work

import "time"

// unmanaged looks at a record whose work the hub does not have. It is kept.
func (p *pass) unmanaged() (time.Time, error) {
	return p.Clock.Now().Add(compareInterval), nil
}
