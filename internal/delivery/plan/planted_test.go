package plan_test

import (
	"testing"

	"github.com/berth-project/berth/internal/checkout/plant"
)

const (
	followFile  = "internal/kube/evidence/follow.go"
	gateFile    = "internal/kube/evidence/gate.go"
	runFile     = "internal/kube/evidence/run.go"
	nextFile    = "rollout/next.go"
	planFile    = "internal/delivery/plan/plan.go"
	controlFile = "internal/delivery/plan/control.go"
)

// root is that of the module.
const root = plant.Root("../../..")

// defects are rules that are broken one after the other by make slow.
func defects() map[string]plant.Defect {
	return map[string]plant.Defect{
		"a cluster that leaves takes its failure with it": {
			File: followFile, Old: "entry.SucceededTime, entry.Phase = nil, clusterv1alpha1.ClusterLost",
			New: "entry.SucceededTime, entry.Phase = nil, clusterv1alpha1.ClusterLeft",
		},
		"a mandatory group without a cluster is open": {
			File: gateFile, Old: "return succeeded > 0 || gate.Succeeded > 0",
			New: "return succeeded > 0 || gate.Succeeded > 0 || len(gate.Clusters) == 0",
		},
		"an index names another group later": {
			File: gateFile, Old: `if gate.GroupName == "" && gate.Resolved != "" {`,
			New: "if false {",
		},
		"a failure ends once the cluster is tried again": {
			File: followFile, Old: "	case rollout.StateProgressing, rollout.StateSkip:\n",
			New: "	case rollout.StateProgressing:\n		entry.Phase = clusterv1alpha1.ClusterInFlight\n	case rollout.StateSkip:\n",
		},
		"a breach is of one placement": {
			File: runFile, Old: "evidence.Breached = former || held && breached != i",
			New: "evidence.Breached = former || held && breached < 0",
		},
		"type All is never breached": {
			File: nextFile, Old: "func (p *planner) judgesAll() bool { return p.evidence.Gates != nil }",
			New: "func (p *planner) judgesAll() bool { return false }",
		},
		"a percentage is of the clusters of now": {
			File: nextFile, Old: "p.exceeded(cmp.Or(p.evidence.Total, total))",
			New: "p.exceeded(cmp.Or(total, p.evidence.Total))",
		},
		"a soak goes on through other reports": {
			File: followFile, Old: "if c.State != rollout.StateSucceeded || member.Unavailable {",
			New: "if c.State == rollout.StateFailed {",
		},
		"a soak needs no sign of life": {
			File: followFile, Old: "case pace.MinSuccessTime > 0 && !member.Renewed.IsZero() && member.Renewed.Before(end):",
			New: "case false:",
		},
		"a soak counts what no manager watched": {
			File: runFile, Old: "gap > r.watchInterval()+maxDelay {",
			New: "gap < 0 {",
		},
		"a deadline runs again after a success": {
			File: followFile, Old: "deadline > 0 && !entry.Reached && c.State != rollout.StateSkip",
			New: "deadline > 0 && c.State != rollout.StateSkip",
		},
		"a rollout finishes since its selection shrank": {
			File: runFile, Old: "	case through < expected && !r.in.WithoutMissing:\n",
			New: "	case false:\n",
		},
		"an edit lowers what has to be through": {
			File: followFile, Old: "			of.Total += r.added(i)\n",
			New: "			of.Total = r.expected(i)\n",
		},
		"a change of the overrides begins a new record": {
			File: planFile, Old: "out.Continues = out.Record != nil && templateOf(out.Record.Revision) == p.in.Hash",
			New: "out.Continues = false",
		},
		"a breach goes with its reference": {
			File: runFile, Old: "breached, former := -1, r.breachedFormer() >= 0",
			New: "breached, former := -1, false",
		},
		"a cluster that is tried again passes a mandatory group": {
			File: runFile, Old: "if back && (!verdict.Closed || r.mustProve(entry)) && step",
			New: "if back && step",
		},
		"a cluster that waits runs nothing": {
			File: planFile, Old: "		case p.startsWithFormer(c):\n",
			New: "		case false:\n",
		},
		"a pause goes with the file of the set": {
			File: controlFile, Old: "strategy.Paused = strategy.Paused || p.in.Control.Spec.Paused",
			New: "strategy.Paused = bool(strategy.Paused)",
		},
		"a mandatory group is passed for every template": {
			File: controlFile, Old: "said.Placement == placement && p.counts(said.Revision, said.StartedTime)",
			New: "said.Placement == placement",
		},
		"a failure is forgiven for every template": {
			File: controlFile, Old: "return said.Cluster == cluster && p.counts(said.Revision, said.StartedTime)",
			New: "return said.Cluster == cluster",
		},
		"a decision that is not complete holds nothing": {
			File: runFile, Old: "r.open && step.Phase == rollout.PhaseAdvancing",
			New: "false && step.Phase == rollout.PhaseAdvancing",
		},
		"a cluster that joins a mandatory group proves it": {
			File: gateFile, Old: "return succeeded > 0 || gate.Succeeded > 0",
			New: "return succeeded > 0 || len(r.record.Placements[0].Groups) > 0 && " + "r.record.Placements[0].Groups[0].Succeeded > 0",
		},
		"a record that was restored is believed": {
			File: runFile, Old: "		r.unrecorded()\n",
			New: "",
		},
		"a record loses what fails later": {
			File: runFile, Old: "		r.regress()\n",
			New: "",
		},
	}
}

func TestDefectsCanBePlanted(t *testing.T) { root.Check(t, defects()) }
