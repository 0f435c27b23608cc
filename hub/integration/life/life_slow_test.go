//go:build slow

package life

import "testing"

// TestNoAccidentLosesAWorkloadInALongLife follows a life of 40 steps.
func TestNoAccidentLosesAWorkloadInALongLife(t *testing.T) { live(t, 40) }
