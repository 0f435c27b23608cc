//go:build slow

package live

import (
	"strings"
	"testing"
)

// TestHistoriesFindWhatMovesByAccident breaks one rule after the other, and follows random accidents until a decision changes.
func TestHistoriesFindWhatMovesByAccident(t *testing.T) {
	for rule, defect := range defects() {
		t.Run(rule, func(t *testing.T) {
			printed, err := root.Run(t, defect, "TestAccidentsMoveNothing", "-rapid.nofailfile", "-rapid.shrinktime=0s")
			if err == nil || !strings.Contains(printed, "slices (-before +after)") {
				t.Errorf("no history shows it: %v\n%s", err, printed[max(0, len(printed)-2000):])
			}
		})
	}
}
