package work

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// TestTheMemoryOfAWorkIsBoundedByTheWork has an object that the work names, one on its record, and one of an earlier manifest.
func TestTheMemoryOfAWorkIsBoundedByTheWork(t *testing.T) {
	named, recorded, old := object.ID{Name: "named"}, object.ID{Name: "recorded"}, object.ID{Name: "old"}
	s := newState()
	s.wants, s.entries = map[object.ID]string{named: "h"}, []plan.Entry{{ID: recorded}}
	for _, id := range []object.ID{named, recorded, old} {
		s.applied[id], s.failures[id], s.attempts[id], s.contentions[id] = plan.Applied{}, plan.Failure{}, 1, contention{}
		s.conflicts[id], s.versions[id], s.unread[id] = true, "1", unread{}
	}
	(&pass{controller: &Controller{}, state: s}).prune()
	want := []object.ID{named, recorded}
	for what, got := range map[string][]object.ID{
		"applied": slices.Collect(maps.Keys(s.applied)), "failures": slices.Collect(maps.Keys(s.failures)),
		"attempts":    slices.Collect(maps.Keys(s.attempts)),
		"contentions": slices.Collect(maps.Keys(s.contentions)), "conflicts": slices.Collect(maps.Keys(s.conflicts)),
		"versions": slices.Collect(maps.Keys(s.versions)),
		"unread":   slices.Collect(maps.Keys(s.unread)),
	} {
		slices.SortFunc(got, object.ID.Compare)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
