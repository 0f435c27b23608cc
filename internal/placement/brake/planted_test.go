package brake_test

import (
	"testing"

	"github.com/berth-project/berth/internal/checkout/plant"
)

const (
	brakeFile  = "internal/placement/brake/brake.go"
	windowFile = "internal/placement/brake/window.go"
)

// root is that of the module.
const root = plant.Root("../../..")

// histories is the test that follows random decisions.
const histories = "TestMostClustersNeverLeaveWithinAMinute"

// defect is a rule that is broken, the test that finds it, and the words by which the test reports it.
type defect struct {
	plant.Defect

	test, reported string
}

// defects are rules that are broken one after the other by make slow.
func defects() map[string]defect {
	return map[string]defect{
		"a set has no brake": {plant.Defect{
			File: brakeFile, Old: "			if all >= minSize && exceeds(left, all) {\n", New: "			if false && all >= minSize && exceeds(left, all) {\n",
		}, histories, "most of the set"},
		"the fleet has no brake": {plant.Defect{
			File: brakeFile, Old: "		case exceeds(clusters, all):\n", New: "		case exceeds(clusters, all) && false:\n",
		}, histories, "most of the fleet"},
		"the share is another": {plant.Defect{
			File: brakeFile, Old: "	limit = 55\n", New: "	limit = 65\n",
		}, histories, "within a minute left"},
		"few clusters engage a brake": {plant.Defect{
			File: brakeFile, Old: "	limit = 55\n", New: "	limit = 45\n",
		}, histories, "though few clusters leave"},
		"what left a minute ago counts": {plant.Defect{
			File: windowFile, Old: ">= span; n++", New: ">= 2*span; n++",
		}, histories, "though few clusters leave"},
		"what left some seconds ago counts no more": {plant.Defect{
			File: windowFile, Old: ">= span; n++", New: ">= span/2; n++",
		}, histories, "within a minute left"},
		"edits count": {plant.Defect{
			File: brakeFile, Old: "	return d.SameSpec && (d.SameReach", New: "	return (d.SameReach",
		}, histories, "though few clusters leave"},
		"decisions of the hub have no brake": {plant.Defect{
			File: brakeFile, Old: "counted.placements.count() >= minPlacements &&", New: "counted.placements.count() < 0 &&",
		}, "TestTheDecisionsOfTheHubHaveABrake", "kept of 18"},
		"a brake ends while it keeps clusters": {plant.Defect{
			File: brakeFile, Old: "		case len(on.keeps) == 0 && !now.Before(on.endsAt):\n", New: "		case !now.Before(on.endsAt):\n",
		}, "TestABrakeEnds", "not_while_it_keeps_clusters"},
	}
}

func TestDefectsCanBePlanted(t *testing.T) {
	all := map[string]plant.Defect{}
	for rule, of := range defects() {
		all[rule] = of.Defect
	}
	root.Check(t, all)
}
