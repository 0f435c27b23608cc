//go:build slow

package brake_test

import (
	"strings"
	"testing"
)

// TestHistoriesFindABrakeThatLetsMostLeave breaks one rule after the other, and sees that its test fails for that.
func TestHistoriesFindABrakeThatLetsMostLeave(t *testing.T) {
	for rule, of := range defects() {
		t.Run(rule, func(t *testing.T) {
			printed, err := root.Run(t, of.Defect, of.test, "-rapid.nofailfile", "-rapid.shrinktime=0s")
			if err == nil || !strings.Contains(printed, of.reported) {
				t.Errorf("no test shows it: %v\n%s", err, printed[max(0, len(printed)-2000):])
			}
		})
	}
}
