package plan

import "time"

const (
	// repairInterval is the shortest time between two repairs of an object, maxRepairInterval the longest while another client goes on.
	repairInterval    = 10 * time.Second
	maxRepairInterval = 10 * time.Minute
	maxDoublings      = 6
)

// Contention is what the agent stores about an object that another client has changed and the agent has put back.
type Contention struct {
	// Repairs is how often the object was put back in a row.
	Repairs int
	// Until is when a changed object may be put back again. Quiet is when the contention is over if no other change comes before.
	Until, Quiet time.Time
}

// Repaired returns the contention after the object was put back. The pause before the next repair doubles while the changes go on.
func (c Contention) Repaired(now time.Time) Contention {
	if !now.Before(c.Quiet) {
		c.Repairs = 0
	}
	pause := min(repairInterval<<min(c.Repairs, maxDoublings), maxRepairInterval)
	return Contention{Repairs: c.Repairs + 1, Until: now.Add(pause), Quiet: now.Add(2 * pause)}
}

// contended returns whether another client has changed the object more than once in a row.
func (c Contention) contended(now time.Time) bool { return c.Repairs > 1 && now.Before(c.Quiet) }
