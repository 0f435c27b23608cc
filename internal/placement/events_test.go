package placement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

func manyNames(count int) []string {
	var out []string
	for i := range count {
		out = append(out, fmt.Sprintf("c%02d", i))
	}
	return out
}

// misconfigured is a result that keeps the decisions, with a message.
func misconfigured(message string) *engine.Result {
	return &engine.Result{Misconfigured: engine.Condition{
		Type: clusterv1beta1.PlacementConditionMisconfigured, Status: metav1.ConditionTrue, Message: message,
	}}
}

func TestDecisionEvent(t *testing.T) {
	const about = "Decisions of placement p in namespace ns are "
	cases := map[string]struct {
		selected int32
		message  string // the message of the stored condition Misconfigured
		result   *engine.Result
		plan     plan.Plan
		want     telemetry.Event // the zero Event: none
	}{
		"the first decision": {
			result: &engine.Result{Selected: 2}, plan: plan.Plan{Added: manyNames(2)},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionCreate", Action: "DecisionCreated",
				Note: about + "created: 2 selected, added 2 (c00, c01)",
			},
		},
		"one for another": {
			selected: 2, result: &engine.Result{Selected: 2}, plan: plan.Plan{Added: []string{"b"}, Removed: []string{"a"}},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionUpdate", Action: "DecisionUpdated",
				Note: about + "updated: 2 selected, added 1 (b), removed 1 (a)",
			},
		},
		"some go and others are held": {
			selected: 5,
			result:   &engine.Result{Selected: 4, Ledger: ledger.Ledger{Held: map[string]time.Time{"b": {}, "c": {}}}},
			plan:     plan.Plan{Removed: []string{"a"}},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionUpdate", Action: "DecisionUpdated",
				Note: about + "updated: 4 selected (2 held), removed 1 (a)",
			},
		},
		"more than are named": {
			selected: 1, result: &engine.Result{Selected: 13}, plan: plan.Plan{Added: manyNames(12)},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionUpdate", Action: "DecisionUpdated",
				Note: about + "updated: 13 selected, added 12 (c00, c01, c02, c03, c04, c05, c06, c07, c08, c09 and 2 more)",
			},
		},
		"a group that was too large": {
			selected: 3, result: &engine.Result{Selected: 2}, plan: plan.Plan{
				Removed: []string{"z"}, Regrouped: []string{"b"},
				RegroupReason: plan.RegroupTooLarge,
			},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionUpdate", Action: "DecisionUpdated",
				Note: about + "updated: 2 selected, removed 1 (z), regrouped 1 (b: their decision group was too large)",
			},
		},
		"regrouped alone": {
			selected: 2, result: &engine.Result{Selected: 2}, plan: plan.Plan{Regrouped: []string{"b"}, RegroupReason: plan.RegroupTooLarge},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionUpdate", Action: "DecisionUpdated",
				Note: about + "updated: 2 selected, regrouped 1 (b: their decision group was too large)",
			},
		},
		"a slice that was deleted by hand": {
			selected: 3, result: &engine.Result{Selected: 4}, plan: plan.Plan{Added: []string{"a", "b", "c"}, Restored: []string{"a", "b"}},
			want: telemetry.Event{
				Type: "Normal", Reason: "DecisionUpdate", Action: "DecisionUpdated",
				Note: about + "updated: 4 selected, added 1 (c), restored 2 (a, b: another client removed them)",
			},
		},
		"labels only": {selected: 2, result: &engine.Result{Selected: 2}, plan: plan.Plan{Writes: make([]plan.Write, 2)}},
		"a new mistake": {
			selected: 2, result: misconfigured("no such thing"),
			want: telemetry.Event{
				Type: "Warning", Reason: "PlacementMisconfigured", Action: "DecisionKept",
				Note: "The last decisions are kept: no such thing",
			},
		},
		"the same mistake again": {selected: 2, message: "no such thing", result: misconfigured("no such thing")},
		"another mistake": {
			selected: 2, message: "no such thing", result: misconfigured("nor that"),
			want: telemetry.Event{
				Type: "Warning", Reason: "PlacementMisconfigured", Action: "DecisionKept",
				Note: "The last decisions are kept: nor that",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := enginetest.Placement("ns", "p").Obj()
			before.Status.NumberOfSelectedClusters = tc.selected
			if tc.message != "" {
				before.Status.Conditions = []metav1.Condition{{Type: clusterv1beta1.PlacementConditionMisconfigured, Message: tc.message}}
			}
			got, ok := decisionEvent(before, tc.result, tc.plan)
			if ok != (tc.want != telemetry.Event{}) {
				t.Errorf("an event is due: %v", ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNotesFitTheAPI(t *testing.T) {
	event, _ := decisionEvent(enginetest.Placement("ns", "p").Obj(), misconfigured(strings.Repeat("ä", 4000)), plan.Plan{})
	if len(event.Note) > 1024 || !strings.HasSuffix(event.Note, "...") || !strings.HasPrefix(event.Note, "The last") ||
		strings.ContainsRune(event.Note, '\uFFFD') {
		t.Errorf("the note has %d bytes: %q", len(event.Note), event.Note)
	}
}

func TestRemovalReasons(t *testing.T) {
	state := enginetest.NewState(
		enginetest.Placement("ns", "p").Labels("fit", "yes").Obj(), enginetest.Set("sea").Obj(),
		enginetest.Cluster("a").In("sea").Label("fit", "yes").TaintValue("gpu", "true", "NoSelect", time.Time{}).Obj(),
		enginetest.Cluster("b").In("sea").Label("fit", "yes").TaintValue("gpu", "true", "NoSelect", time.Time{}).Obj(),
		enginetest.Cluster("c").In("sea").Obj(), enginetest.Cluster("e").Obj(),
	).Bind("ns", "sea")
	result := enginetest.Decide(t, state)
	for sentence, test := range map[string]struct {
		removed []string
		want    string
	}{
		"the most frequent first": {[]string{"a", "b", "c"}, "removed 3 (a, b, c: taint gpu=true:NoSelect 2, Mismatch 1)"},
		"a missing cluster":       {[]string{"d"}, "removed 1 (d: Gone 1)"},
		"three reasons at most":   {[]string{"a", "c", "d", "e"}, "removed 4 (a, c, d, e: Gone 1, Mismatch 1, OutsideSets 1, ...)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := enginetest.Placement("ns", "p").Obj()
			before.Status.NumberOfSelectedClusters = 1
			event, _ := decisionEvent(before, result, plan.Plan{Removed: test.removed})
			if !strings.HasSuffix(event.Note, test.want) {
				t.Errorf("the note is %q, want the end %q", event.Note, test.want)
			}
		})
	}
}

// TestNotesHoldNoControlCharacters evicts a cluster for a taint whose value drives terminals and forges lines.
func TestNotesHoldNoControlCharacters(t *testing.T) {
	const hostile = "\x1b[2Jx\a\r\nFORGED\u202e\u009b31m"
	state := enginetest.NewState(
		enginetest.Placement("ns", "p").Obj(), enginetest.Set("sea").Obj(),
		enginetest.Cluster("a").In("sea").TaintValue("gpu", hostile, "NoSelect", time.Time{}).Obj(),
	).Bind("ns", "sea")
	before := enginetest.Placement("ns", "p").Obj()
	before.Status.NumberOfSelectedClusters = 1
	removed, _ := decisionEvent(before, enginetest.Decide(t, state), plan.Plan{Removed: []string{"a"}})
	kept, _ := decisionEvent(before, misconfigured(hostile), plan.Plan{})
	for _, event := range []telemetry.Event{removed, kept} {
		if strings.ContainsFunc(event.Note, escape.Control) || !strings.Contains(event.Note, `^[[2Jx\u0007\r\nFORGED\u202e\u009b31m`) {
			t.Errorf("the note is %q, want the value spelled out", event.Note)
		}
	}
}
