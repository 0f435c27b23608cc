package plan

import (
	"testing"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestWhatNamesTheRecordAsItsOwner plans for an object that the work created, adopted, and lets stay, with and without an owner reference.
func TestWhatNamesTheRecordAsItsOwner(t *testing.T) {
	id := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	for sentence, test := range map[string]struct {
		adopted, orphans, owned bool
		writes, own             bool
	}{
		"it created the object":                           {owned: true},
		"it created the object, which lost its owner":     {writes: true, own: true},
		"it adopted the object":                           {adopted: true},
		"it adopted the object, which has its owner":      {adopted: true, owned: true, writes: true},
		"the object stays without the work":               {orphans: true},
		"the object stays from now on":                    {orphans: true, owned: true, writes: true},
		"the object was there before, and stays in a way": {adopted: true, orphans: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := Input{
				Work: "w", Orphan: func(object.ID) bool { return test.orphans }, Recorded: true,
				Record:    []Entry{{ID: id, UID: "u", Hash: "h", Fields: "f", Adopted: test.adopted}},
				Objects:   map[object.ID]Object{id: {UID: "u", Labelled: true, Owned: test.owned, Fields: "f", Serving: true}},
				Manifests: []object.Manifest{{ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.Update}}}},
			}
			step := Plan(in)
			if writes := len(step.Calls) == 1 && step.Calls[0].Verb == Apply; writes != test.writes || writes && step.Calls[0].Own != test.own {
				t.Errorf("the calls are %+v", step.Calls)
			}
		})
	}
}
