package token

import "time"

const (
	// A token is renewed after this part of its life, and up to jitter more, so that the agents of a fleet that joined together do not
	// renew together. The rest of its life is time for a hub that is away.
	minAge = 0.50
	jitter = 0.10
)

// RenewAt returns when to renew a token. random is from 0 up to 1 and stays the same for one token.
func RenewAt(from, until time.Time, random float64) time.Time {
	return from.Add(time.Duration((minAge + jitter*random) * float64(until.Sub(from))))
}
