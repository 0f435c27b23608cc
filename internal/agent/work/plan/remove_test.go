package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestAnObjectThatDoesNotDisappear deletes a work of two ranks. The first has a finalizer that no client removes.
func TestAnObjectThatDoesNotDisappear(t *testing.T) {
	start := time.Unix(1e6, 0)
	stuck := object.ID{Group: "apps", Resource: "deployments", Namespace: "n", Name: "stuck"}
	next := object.ID{Resource: "configmaps", Namespace: "n", Name: "next"}
	stage := Stage{Rank: object.RankOf(stuck), Removing: true}
	for sentence, test := range map[string]struct {
		since   time.Duration
		exists  bool
		deletes []object.ID
		waits   []object.ID
		overdue []object.ID
		again   time.Duration
	}{
		"it is looked at while the next rank waits": {since: 30 * time.Second, exists: true, waits: []object.ID{stuck}, again: time.Minute},
		"the wait ends before the next look": {
			since: RemovalWait - time.Second, exists: true, waits: []object.ID{stuck},
			again: time.Second,
		},
		"after the wait the next rank goes": {
			since: RemovalWait, exists: true, deletes: []object.ID{next}, waits: []object.ID{next},
			overdue: []object.ID{stuck}, again: time.Minute,
		},
		"it is looked at when nothing else is left": {since: RemovalWait, overdue: []object.ID{stuck}, again: time.Minute},
		"it is looked at an hour later":             {since: time.Hour, overdue: []object.ID{stuck}, again: time.Minute},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := start.Add(test.since)
			in := Input{
				Now: now, Leaving: true, Orphan: func(object.ID) bool { return false }, Since: map[Stage]time.Time{stage: start},
				Recorded: true, Record: []Entry{{ID: next, UID: "n"}, {ID: stuck, UID: "s"}},
				Objects: map[object.ID]Object{stuck: {UID: "s", Labelled: true, Owned: true, Terminating: true}},
			}
			if test.exists {
				in.Objects[next] = Object{UID: "n", Labelled: true, Owned: true}
			}
			step := Plan(in)
			var deletes, waits []object.ID
			for _, call := range step.Calls {
				deletes = append(deletes, call.Entry.ID)
			}
			if step.Wait != nil {
				waits = step.Wait.Objects
			}
			for what, diff := range map[string]string{
				"deleted": cmp.Diff(test.deletes, deletes), "waited for": cmp.Diff(test.waits, waits), "overdue": cmp.Diff(test.overdue, step.Overdue),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			if len(step.Blocked) == 0 || step.Blocked[0] != stage || !step.Again.Equal(now.Add(test.again)) {
				t.Errorf("%v is blocked, and it is planned again at %v, want %s later", step.Blocked, step.Again, test.again)
			}
		})
	}
}
