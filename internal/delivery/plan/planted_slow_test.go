//go:build slow

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/checkout/plant"
)

func TestHistoriesFindBrokenRulesOfClusters(t *testing.T) {
	findBroken(t, func(of plant.Defect) bool { return of.File == followFile })
}

func TestHistoriesFindBrokenRulesOfRuns(t *testing.T) {
	findBroken(t, func(of plant.Defect) bool { return of.File == runFile || of.File == gateFile })
}

func TestHistoriesFindBrokenRulesOfPlans(t *testing.T) {
	findBroken(t, func(of plant.Defect) bool {
		return of.File == nextFile || of.File == planFile || of.File == controlFile
	})
}

// findBroken breaks some rules one after the other, and follows random rollouts until one shows it.
func findBroken(t *testing.T, some func(of plant.Defect) bool) {
	t.Helper()
	for rule, defect := range defects() {
		if !some(defect) {
			continue
		}
		t.Run(rule, func(t *testing.T) {
			printed, err := root.Run(t, defect, "TestRolloutsGoOnByEvidence", fmt.Sprintf("-stories=%d", 6*stories))
			if err == nil || !strings.Contains(printed, "--- FAIL: TestRolloutsGoOnByEvidence/seed=") {
				t.Errorf("no history shows it: %v\n%s", err, printed[max(0, len(printed)-2000):])
			}
		})
	}
}
