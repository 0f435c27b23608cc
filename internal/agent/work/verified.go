package work

import "time"

// Verified returns when the statuses of all works were last known to be so on the member: the earliest of their times. A work whose objects
// are watched is verified while the member responds, another work by each pass that succeeds. Verified returns zero before the first pass
// of each work, and while the agent keeps none, as beside an agent of Open Cluster Management.
func (c *Controller) Verified() time.Time {
	now, reached := c.Clock.Now(), c.MemberReached == nil || c.MemberReached()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		return time.Time{}
	}
	for _, work := range c.works.all() {
		if c.states[work.Name] == nil {
			return time.Time{} // it has just arrived
		}
	}
	earliest := now
	for _, each := range c.states {
		if each.watched && reached {
			each.verified = now
		}
		if each.verified.Before(earliest) {
			earliest = each.verified
		}
	}
	return earliest
}

// setBegun records whether works are kept. Verified reads no other field while they are not.
func (c *Controller) setBegun(begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = begun
}

// verify records the end of a pass.
func (c *Controller) verify(name string, succeeded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.states[name]
	if state == nil {
		return // the work is gone
	}
	state.watched = succeeded && !state.polls
	if succeeded {
		state.verified = c.Clock.Now()
	}
}
