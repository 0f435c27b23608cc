package work

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// TestWhatAWorkShowsToTheOthers publishes a work that the hub has, that goes, and that the hub lost. The record has its object
// without a UID.
func TestWhatAWorkShowsToTheOthers(t *testing.T) {
	a, record := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}, &workv1.AppliedManifestWork{}
	record.Status.AppliedResources = []workv1.AppliedManifestResourceMeta{metaOf(plan.Entry{ID: a})}
	has := &workv1.ManifestWork{}
	goes := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}
	for sentence, test := range map[string]struct {
		work    *workv1.ManifestWork
		applied plan.Applied
		want    []plan.Other
	}{
		"it is not applied": {work: has, want: []plan.Other{{Work: "w", Hash: "h", Refused: true, Recorded: true}}},
		"it is applied": {
			work: has, applied: plan.Applied{UID: "u", Hash: "h"},
			want: []plan.Other{{Work: "w", Hash: "h", Refused: true, Recorded: true, Applied: true, UID: "u"}},
		},
		"another client was first": {
			work: has, applied: plan.Applied{UID: "u", Hash: "h", CreatedConcurrently: true},
			want: []plan.Other{{Work: "w", Hash: "h", Refused: true, Recorded: true, Applied: true, UID: "u", Adopted: true}},
		},
		"it goes":         {work: goes, want: []plan.Other{{Work: "w", Recorded: true}}},
		"the hub lost it": {want: []plan.Other{{Work: "w", Recorded: true}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := &Controller{states: map[string]*state{}, watch: newWatches(t.Context(), nil, nil)}
			p := &pass{controller: c, state: c.state("w"), name: "w", work: test.work, record: record}
			p.state.wants, p.state.refused = map[object.ID]string{a: "h"}, map[object.ID]bool{a: true}
			if test.applied.UID != "" {
				p.state.applied[a] = test.applied
			}
			p.publish()
			if diff := cmp.Diff(test.want, c.others("other", a)); diff != "" {
				t.Errorf("the other works (-want +got):\n%s", diff)
			}
		})
	}
	if got := wantOf(&object.Manifest{Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.ReadOnly}}}); got !=
		"" {
		t.Errorf("a manifest that only reports wants %q", got)
	}
}
