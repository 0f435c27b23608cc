package command

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// Now returns the instant that a flag --now gives, or that of the clock where the flag is absent.
func Now(text string, clock clock.PassiveClock) (time.Time, error) {
	if text == "" {
		return clock.Now(), nil
	}
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--now %q is not in RFC 3339 form, such as 2026-11-20T10:00:00Z", text)
	}
	return now, nil
}
