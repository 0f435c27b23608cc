package live

import (
	"testing"

	"github.com/berth-project/berth/internal/checkout/plant"
)

const (
	fleetFile      = "internal/placement/live/fleet.go"
	withdrawalFile = "internal/placement/live/withdrawal.go"
	decisionsFile  = "internal/placement/live/decisions.go"
	retainFile     = "engine/withdrawal.go"
	missingFile    = "engine/internal/filter/missing.go"
)

// root is that of the module.
const root = plant.Root("../../..")

// defects are rules that are broken one after the other by make slow.
func defects() map[string]plant.Defect {
	return map[string]plant.Defect{
		"a deleted set counts no more": {
			File: withdrawalFile, Old: "	f.withdrawals.sets[object.Name] = until\n",
			New: "	f.withdrawals.sets[object.Name] = until.Add(-f.withdrawals.grace)\n",
		},
		"a deleted binding counts no more": {
			File: withdrawalFile, Old: "	f.withdrawals.bindings[key] = until\n",
			New: "	f.withdrawals.bindings[key] = until.Add(-f.withdrawals.grace)\n",
		},
		"the label of the set counts no more": {
			File: withdrawalFile, Old: "		return w.grace\n", New: "		return 0\n",
		},
		"claims count no more": {
			File: withdrawalFile, Old: "	note(fleet.Claim, before.Claims, claimsOf(stored))\n", New: "",
		},
		"labels count no more": {
			File: withdrawalFile, Old: "	note(fleet.Label, before.Object.Labels, stored.Labels)\n", New: "",
		},
		"the last score counts no more": {
			File: fleetFile, Old: "		score.RememberLost(before, now, now.Add(-f.rules.ExpressionHold))\n", New: "		_ = now\n",
		},
		"a placement that is made anew begins from nothing": {
			File: decisionsFile, Old: "	if !known || found.ended(s.clock.Now()) {\n", New: "	if true || !known || found.ended(s.clock.Now()) {\n",
		},
		"what goes with its definition is deleted": {
			File: decisionsFile, Old: "bool { return s.keeps != nil && s.keeps() }\n", New: "bool { return s.keeps != nil && false }\n",
		},
		"an expression that fails is a false one": {
			File: missingFile, Old: "bool { return h.Snapshot.Now.Before(h.Until(id)) }\n", New: "bool { return false && id == 0 }\n",
		},
		"an edit that names nothing is followed": {
			File: "engine/reference.go", Old: "	return t.Snapshot.Rules.HoldUnknownReferences && !past.SameSpec",
			New: "	return false && !past.SameSpec",
		},
		"an edit that leaves none is followed": {
			File: "engine/edit.go", Old: "	if !holds || !decided.Decided ||", New: "	if holds || !decided.Decided ||",
		},
		"an expression that fails everywhere is a false one": {
			File: "engine/internal/filter/evaluation.go", Old: "	if r.evaluated == 0 || failed.Count() < r.evaluated {",
			New: "	if r.evaluated == 0 || failed.Count() <= r.evaluated {",
		},
		"no grace after a start": {
			File: fleetFile, Old: "		f.retainUntil = f.clock.Now().Add(f.withdrawals.grace)\n", New: "",
		},
		"the grace after a start concerns no ranks": {
			File: retainFile, Old: "	return incumbents.Intersection(t.tolerated.In)\n", New: "	return nil\n",
		},
		"the grace after a start concerns no groups": {
			File: retainFile, Old: "	return t.Snapshot.Retained(incumbents)\n", New: "	return nil\n",
		},
	}
}

func TestDefectsCanBePlanted(t *testing.T) { root.Check(t, defects()) }
