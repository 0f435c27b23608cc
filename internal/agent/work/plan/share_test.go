package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestWhichWorkOwnsAnObject plans a work that has applied an object which an older work names too.
func TestWhichWorkOwnsAnObject(t *testing.T) {
	now := time.Unix(1e6, 0)
	id := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	for sentence, test := range map[string]struct {
		leaving   bool
		other     Other
		verb      Verb
		code      Code
		successor string
		woken     bool
	}{
		"it has another manifest and has not applied it":  {other: Other{Hash: "other"}, verb: Apply},
		"it may read the object and has it on its record": {other: Other{Hash: "other", Recorded: true, UID: "u"}, verb: Apply},
		"it has applied another manifest": {
			other: Other{Hash: "other", Recorded: true, Applied: true, UID: "u"},
			code:  OwnedByWork,
		},
		"it has applied the object, and does not write it any more": {other: Other{Recorded: true, Applied: true, UID: "u"}, verb: Apply},
		"the work goes, and it is about to apply the object":        {leaving: true, other: Other{Hash: "other"}, woken: true},
		"the work goes, and it has the object on its record": {
			leaving: true, other: Other{Hash: "other", Recorded: true, UID: "u"},
			woken: true,
		},
		"the work goes, and it has applied the object": {
			leaving: true,
			other:   Other{Hash: "h", Recorded: true, Applied: true, UID: "u"}, verb: Release, successor: "old",
		},
		"both go": {leaving: true, other: Other{Recorded: true, Applied: true, Removes: true, UID: "u"}, verb: Delete},
		"the work goes, and it may not read the object": {leaving: true, other: Other{Hash: "other", Refused: true}, verb: Delete},
		"the work goes, and it may not write the object": {
			leaving: true,
			other:   Other{Hash: "h", Refused: true, Recorded: true, UID: "u"}, verb: Delete,
		},
		"the work goes, and its change of the object is refused": {
			leaving: true,
			other:   Other{Hash: "h", Refused: true, Recorded: true, Applied: true, UID: "u"}, verb: Release, successor: "old",
		},
		"the work goes, and another agent has applied the object": {
			leaving: true,
			other:   Other{Foreign: true, Marked: true, Recorded: true, Applied: true, UID: "u"}, verb: Release,
		},
		"the work goes, and another agent has adopted the object": {
			leaving: true, other: Other{Foreign: true, Recorded: true, Adopted: true, UID: "u"}, verb: Release,
		},
		"the work goes, and another agent is about to apply the object, or has just released it": {
			leaving: true, other: Other{Foreign: true, Recorded: true, UID: "u"},
		},
		"the work goes, and another agent lists the object that was there before": {
			leaving: true, other: Other{Foreign: true, Recorded: true, Applied: true, UID: "before"}, verb: Delete,
		},
		"another agent has applied the object": {other: Other{Foreign: true, Recorded: true, Applied: true, UID: "u"}, verb: Apply},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.other.Work = "old"
			in := Input{
				Now: now, Work: "new", Created: now, Leaving: test.leaving, Orphan: func(object.ID) bool { return false },
				Recorded: true, Record: []Entry{{ID: id, UID: "u", Hash: "before", Fields: "f"}},
				Objects: map[object.ID]Object{id: {UID: "u", Labelled: true, Owned: true, Fields: "f", Serving: true}},
				Others:  map[object.ID][]Other{id: {test.other}},
			}
			if !test.leaving {
				in.Manifests = []object.Manifest{{ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.Update}}}}
			}
			step := Plan(in)
			var got Call
			if len(step.Calls) > 0 {
				got = step.Calls[0]
			}
			if got.Verb != test.verb || got.Successor != test.successor || step.Verdicts[0].Code != test.code {
				t.Errorf("the calls are %+v with the verdict %+v", step.Calls, step.Verdicts[0])
			}
			if woken := len(step.Wake) > 0; woken != test.woken || woken && step.Again.Before(now.Add(HandoverWait)) {
				t.Errorf("it wakes %v and plans again at %v", step.Wake, step.Again)
			}
		})
	}
}

// TestAManifestThatOnlyCreates plans for an object that exists. The work owns it where it has written it.
func TestAManifestThatOnlyCreates(t *testing.T) {
	id := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	m := object.Manifest{ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.CreateOnly}}}
	other := []Other{{Work: "other", Hash: "h", Recorded: true, Applied: true, UID: "u"}}
	for sentence, test := range map[string]struct {
		object Object
		others []Other
		want   Entry
		marks  bool
	}{
		"another client created it": {object: Object{UID: "u"}, want: Entry{ID: id, UID: "u", Adopted: true}},
		"another client created it, and it has ended": {
			object: Object{UID: "u", Finished: true},
			want:   Entry{ID: id, UID: "u", Adopted: true, Hash: "h", Completed: true},
		},
		"the work created it, and the response is lost": {
			object: Object{UID: "u", Labelled: true, Owned: true},
			want:   Entry{ID: id, UID: "u", Hash: "h"},
		},
		"another work created it": {object: Object{UID: "u", OtherLabel: true}, others: other, marks: true},
		"another work created it, and it has marks": {
			object: Object{UID: "u", OtherLabel: true, Owned: true}, others: other,
			want: Entry{ID: id, UID: "u", Hash: "h"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := Input{
				Work: "w", Manifests: []object.Manifest{m}, Recorded: true, Record: []Entry{{ID: id}},
				Objects: map[object.ID]Object{id: test.object}, Others: map[object.ID][]Other{id: test.others},
			}
			step, marks := Plan(in), false
			for ; len(step.Calls) > 0 && !marks; step = Plan(in) {
				in.Record, marks = step.Calls[0].Entries, step.Calls[0].Verb == Apply && !step.Calls[0].Create
			}
			if marks != test.marks || !marks && !cmp.Equal([]Entry{test.want}, in.Record) {
				t.Errorf("the record is %+v, marks %t", in.Record, marks)
			}
		})
	}
}

// TestAManifestThatOnlyCreatesMayNotMark plans for an object of another work. The work has its object, and the other work need not wait for
// it.
func TestAManifestThatOnlyCreatesMayNotMark(t *testing.T) {
	now, id := time.Unix(1e6, 0), object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	step := Plan(Input{
		Now: now, Work: "w", Recorded: true, Record: []Entry{{ID: id, UID: "u"}},
		Manifests: []object.Manifest{{ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.CreateOnly}}}},
		Objects:   map[object.ID]Object{id: {UID: "u", OtherLabel: true, Serving: true}},
		Others:    map[object.ID][]Other{id: {{Work: "other", Hash: "h", Recorded: true, Applied: true, UID: "u"}}},
		Failures:  map[object.ID]Failure{id: {Hash: "h", Code: Forbidden, Until: now.Add(time.Minute)}},
	})
	if got := step.Verdicts[0]; got.State != Settled || got.Code != "" || !step.Refused[id] || !step.Again.Equal(now.Add(time.Minute)) {
		t.Errorf("the verdict is %+v, refused %v, again at %v", got, step.Refused, step.Again)
	}
}
