// Package filter takes the time as a value.
package filter

import (
	"time"

	_ "math/rand/v2" // want depguard: 'math/rand/v2' is not allowed from list 'engine'
)

// Now reads the clock.
func Now() time.Time {
	return time.Now() // want forbidigo: the engine takes a time.Time value
}
