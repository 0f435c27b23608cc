package enginetest_test

import (
	"testing"

	"github.com/berth-project/berth/internal/checkout/plant"
)

const (
	candidateFile = "engine/internal/selection/candidate.go"
	stabilizeFile = "engine/internal/selection/stabilize.go"
)

// root is that of the module.
const root = plant.Root("../..")

// spreadDefects are rules of hard spread constraints that are broken one after the other by make slow.
func spreadDefects() map[string]spreadDefect {
	return map[string]spreadDefect{
		"a placement shrinks until no domain exceeds maxSkew": {plant.Defect{
			File: candidateFile, Old: "over > 0 && refilled\n", New: "over > 0\n",
		}, "are selected, want at least the"},
		"a domain that exceeds maxSkew grows": {plant.Defect{
			File: candidateFile, Old: "over > 0 && refilled\n", New: "over > 0 && refilled && false\n",
		}, "clusters, want at most the"},
		"a newcomer takes the place of several clusters": {plant.Defect{
			File: stabilizeFile, Old: "	if p.termsCross() {\n", New: "	if false && p.termsCross() {\n",
		}, "are selected, want at least the"},
	}
}

// spreadDefect is a defect with the words by which the property reports it.
type spreadDefect struct {
	plant.Defect

	reported string
}

func TestDefectsOfSpreadCanBePlanted(t *testing.T) {
	defects := map[string]plant.Defect{}
	for rule, of := range spreadDefects() {
		defects[rule] = of.Defect
	}
	root.Check(t, defects)
}
