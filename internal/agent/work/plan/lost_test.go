package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestAnObjectOfALostRecord plans for an object that exists while the record has no entry of it.
func TestAnObjectOfALostRecord(t *testing.T) {
	id := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	for sentence, test := range map[string]struct {
		object  Object
		adopted bool
	}{
		"another client created it":             {adopted: true},
		"the work had adopted it":               {object: Object{Labelled: true}, adopted: true},
		"the work had created it":               {object: Object{Labelled: true, Named: true}},
		"it names the present record":           {object: Object{Owned: true, Named: true}},
		"it lost the label of its lost record":  {object: Object{Named: true}, adopted: true},
		"it has the label of another work only": {object: Object{OtherLabel: true}, adopted: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.object.UID = "u"
			step := Plan(Input{
				Manifests: []object.Manifest{{ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.Update}}}},
				Objects:   map[object.ID]Object{id: test.object},
			})
			if len(step.Calls) != 1 {
				t.Fatalf("the calls are %+v", step.Calls)
			}
			if diff := cmp.Diff([]Entry{{ID: id, UID: "u", Adopted: test.adopted}}, step.Calls[0].Entries); diff != "" {
				t.Errorf("the record (-want +got):\n%s", diff)
			}
		})
	}
}
