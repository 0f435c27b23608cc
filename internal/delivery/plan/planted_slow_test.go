//go:build slow

package plan_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestHistoriesFindBrokenRules breaks one rule after the other, and follows random rollouts until one shows it.
func TestHistoriesFindBrokenRules(t *testing.T) {
	for rule, defect := range defects() {
		t.Run(rule, func(t *testing.T) {
			printed, err := root.Run(t, defect, "TestRolloutsGoOnByEvidence", fmt.Sprintf("-stories=%d", 6*stories))
			if err == nil || !strings.Contains(printed, "--- FAIL: TestRolloutsGoOnByEvidence/seed=") {
				t.Errorf("no history shows it: %v\n%s", err, printed[max(0, len(printed)-2000):])
			}
		})
	}
}
