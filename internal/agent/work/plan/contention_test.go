package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestTheClientThatGoesOnIsWrittenAgainstLessAndLess changes an object again as soon as it is put back.
func TestTheClientThatGoesOnIsWrittenAgainstLessAndLess(t *testing.T) {
	now, contention := time.Unix(1e6, 0), Contention{}
	var pauses []time.Duration
	for range 9 {
		contention = contention.Repaired(now)
		pauses = append(pauses, contention.Until.Sub(now))
		now = contention.Until
	}
	const second = time.Second
	want := []time.Duration{
		10 * second, 20 * second, 40 * second, 80 * second, 160 * second, 320 * second, 600 * second, 600 * second,
		600 * second,
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses between repairs (-want +got):\n%s", diff)
	}
	if contention = contention.Repaired(contention.Quiet); contention.Repairs != 1 || contention.Until.Sub(now) > 2*maxRepairInterval {
		t.Errorf("after a quiet time the contention is %+v", contention)
	}
}

// TestAChangedObject plans for an object that differs from the last apply, or did so before.
func TestAChangedObject(t *testing.T) {
	now := time.Unix(1e6, 0)
	id := object.ID{Resource: "configmaps", Namespace: "n", Name: "a"}
	m := object.Manifest{ID: id, Hash: "h", Settings: object.Settings{Strategy: workv1.UpdateStrategy{Type: object.Update}}}
	entry := Entry{ID: id, UID: "u", Hash: "h", Fields: "f"}
	for sentence, test := range map[string]struct {
		fields     string
		contention Contention
		calls      int
		want       Verdict
		again      time.Duration
	}{
		"changed for the first time": {fields: "x", calls: 1},
		"changed before its pause is over": {
			fields: "x", contention: Contention{Repairs: 1, Until: now.Add(time.Second), Quiet: now.Add(time.Minute)},
			want: Verdict{State: Settled, Contended: true}, again: time.Second,
		},
		"changed after its pause": {fields: "x", contention: Contention{Repairs: 1, Until: now, Quiet: now.Add(time.Minute)}, calls: 1},
		"put back once": {
			fields: "f", contention: Contention{Repairs: 1, Quiet: now.Add(time.Minute)},
			want: Verdict{State: Settled},
		},
		"put back again and again": {
			fields: "f", contention: Contention{Repairs: 2, Quiet: now.Add(time.Minute)},
			want: Verdict{State: Settled, Contended: true}, again: time.Minute,
		},
		"put back again and again, earlier": {fields: "f", contention: Contention{Repairs: 2, Quiet: now}, want: Verdict{State: Settled}},
	} {
		t.Run(sentence, func(t *testing.T) {
			step := Plan(Input{
				Now: now, Work: "w", Manifests: []object.Manifest{m}, Recorded: true, Record: []Entry{entry},
				Objects:     map[object.ID]Object{id: {UID: "u", Labelled: true, Owned: true, Fields: test.fields, Serving: true}},
				Contentions: map[object.ID]Contention{id: test.contention},
			})
			if len(step.Calls) != test.calls || test.calls > 0 && step.Calls[0].Verb != Apply {
				t.Fatalf("the calls are %+v", step.Calls)
			}
			if diff := cmp.Diff(test.want, step.Verdicts[0]); diff != "" {
				t.Errorf("the verdict (-want +got):\n%s", diff)
			}
			if again := step.Again; test.again > 0 && !again.Equal(now.Add(test.again)) || test.again == 0 && !again.IsZero() {
				t.Errorf("it is planned again at %v", again)
			}
		})
	}
}
