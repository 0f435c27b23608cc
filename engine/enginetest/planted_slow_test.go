//go:build slow

package enginetest_test

import (
	"strings"
	"testing"
)

// TestHistoriesFindSpreadThatShrinksAPlacement breaks one rule after the other, and follows random regions until a property fails.
func TestHistoriesFindSpreadThatShrinksAPlacement(t *testing.T) {
	const property = "TestAHardSpreadNeverShrinksAPlacementAndNeverLetsAFullDomainGrow"
	for rule, defect := range spreadDefects() {
		t.Run(rule, func(t *testing.T) {
			printed, err := root.Run(t, defect.Defect, property, "-properties-alone", "-rapid.nofailfile", "-rapid.shrinktime=0s")
			if err == nil || !strings.Contains(printed, defect.reported) {
				t.Errorf("no history shows it: %v\n%s", err, printed[max(0, len(printed)-2000):])
			}
		})
	}
}
