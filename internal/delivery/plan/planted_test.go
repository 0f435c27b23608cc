//go:build slow

package plan_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plantedDefect is a rule that a change of one file breaks.
type plantedDefect struct{ file, old, new string }

const (
	followFile  = "internal/kube/evidence/follow.go"
	gateFile    = "internal/kube/evidence/gate.go"
	runFile     = "internal/kube/evidence/run.go"
	nextFile    = "rollout/next.go"
	planFile    = "internal/delivery/plan/plan.go"
	controlFile = "internal/delivery/plan/control.go"
)

// TestHistoriesFindBrokenRules breaks one rule after the other, and follows random rollouts until one shows it.
func TestHistoriesFindBrokenRules(t *testing.T) {
	for rule, defect := range map[string]plantedDefect{
		"a cluster that leaves takes its failure with it": {
			followFile, "entry.SucceededTime, entry.Phase = nil, clusterv1alpha1.ClusterLost",
			"entry.SucceededTime, entry.Phase = nil, clusterv1alpha1.ClusterLeft",
		},
		"a mandatory group without a cluster is open": {
			gateFile, "return succeeded > 0 || gate.Succeeded > 0", "return succeeded > 0 || gate.Succeeded > 0 || len(gate.Clusters) == 0",
		},
		"an index names another group later": {
			gateFile, `if gate.GroupName == "" && gate.Resolved != "" {`, "if false {",
		},
		"a failure ends once the cluster is tried again": {
			followFile, "	case rollout.StateProgressing, rollout.StateSkip:\n",
			"	case rollout.StateProgressing:\n		entry.Phase = clusterv1alpha1.ClusterInFlight\n	case rollout.StateSkip:\n",
		},
		"a breach is of one placement": {
			runFile, "evidence.Breached = round > 0 && breached != i", "evidence.Breached = round < 0",
		},
		"type All is never breached": {
			nextFile, "func (p *planner) judgesAll() bool { return p.evidence.Gates != nil }", "func (p *planner) judgesAll() bool { return false }",
		},
		"a percentage is of the clusters of now": {
			nextFile, "p.exceeded(cmp.Or(p.evidence.Total, total))", "p.exceeded(cmp.Or(total, p.evidence.Total))",
		},
		"a soak goes on through other reports": {
			followFile, "if c.State != rollout.StateSucceeded || member.Unavailable {", "if c.State == rollout.StateFailed {",
		},
		"a soak needs no sign of life": {
			followFile, "case pace.MinSuccessTime > 0 && !member.Renewed.IsZero() && member.Renewed.Before(end):", "case false:",
		},
		"a soak counts what no manager watched": {
			runFile, "gap > r.watchInterval()+maxDelay {", "gap < 0 {",
		},
		"a deadline runs again after a success": {
			followFile, "deadline > 0 && !entry.Reached && c.State != rollout.StateSkip", "deadline > 0 && c.State != rollout.StateSkip",
		},
		"a rollout finishes since its selection shrank": {
			runFile, "	case through < expected:\n", "	case false:\n",
		},
		"a cluster that waits runs nothing": {
			planFile, "		case p.startsWithFormer(c):\n", "		case false:\n",
		},
		"a pause goes with the file of the set": {
			controlFile, "strategy.Paused = strategy.Paused || p.in.Control.Spec.Paused", "strategy.Paused = bool(strategy.Paused)",
		},
		"a mandatory group is passed for every template": {
			controlFile, "said.For == rolloutv1alpha1.ApprovalProof && said.Placement == placement && said.Revision == p.in.Hash",
			"said.For == rolloutv1alpha1.ApprovalProof && said.Placement == placement",
		},
		"a failure is forgiven for every template": {
			controlFile, "return said.Cluster == cluster && said.Revision == p.in.Hash", "return said.Cluster == cluster",
		},
		"a decision that is not complete holds nothing": {
			runFile, "r.open && step.Phase == rollout.PhaseAdvancing", "false && step.Phase == rollout.PhaseAdvancing",
		},
		"a cluster that joins a mandatory group proves it": {
			gateFile, "return succeeded > 0 || gate.Succeeded > 0", "return succeeded > 0 || len(r.record.Placements[0].Groups) > 0 && " +
				"r.record.Placements[0].Groups[0].Succeeded > 0",
		},
		"a record that was restored is believed": {
			runFile, "		r.unrecorded()\n", "",
		},
		"a record loses what fails later": {
			runFile, "		r.regress()\n", "",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "test", "-overlay="+overlay(t, defect), "-vet=off",
				"-run=^TestRolloutsGoOnByEvidence$", ".", "-args", fmt.Sprintf("-stories=%d", 6*stories))
			printed, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(printed), "--- FAIL: TestRolloutsGoOnByEvidence/seed=") {
				t.Errorf("no history shows it: %v\n%s", err, printed[max(0, len(printed)-2000):])
			}
		})
	}
}

// overlay returns a file for -overlay with the defect in place.
func overlay(t *testing.T, defect plantedDefect) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../..", filepath.FromSlash(defect.file)))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(before), defect.old) != 1 {
		t.Fatalf("%s has %q %d times: plant something else", defect.file, defect.old, strings.Count(string(before), defect.old))
	}
	folder := t.TempDir()
	changed, replaced := filepath.Join(folder, filepath.Base(path)), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{changed: []byte(strings.Replace(string(before), defect.old, defect.new, 1)), replaced: text} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return replaced
}
