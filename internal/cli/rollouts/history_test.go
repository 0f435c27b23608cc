package rollouts

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// versions returns a set with the template of the last name, and its history. The current one is marked, and those whose name has a star
// have finished.
func versions(t *testing.T, current string, names ...string) (*workv1alpha1.ManifestWorkReplicaSet, []Revision) {
	t.Helper()
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7"}}
	var history []Revision
	for _, name := range names {
		name, finished := strings.CutSuffix(name, "*")
		manifest := workv1.Manifest{}
		manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`)
		set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest}
		hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
		if err != nil {
			t.Fatal(err)
		}
		var stored []*appsv1.ControllerRevision
		for _, one := range history {
			stored = append(stored, one.stored)
		}
		planned, err := plan.Revisions(set, hash, stored)
		if err != nil {
			t.Fatal(err)
		}
		made := Revision{Number: planned.Create.Revision, Hash: hash, Current: name == current, Finished: finished, stored: planned.Create}
		if made.Current {
			set.Status.CurrentRevision, made.Finished = hash, true
		}
		history = append([]Revision{made}, history...)
	}
	return set, history
}

func TestUndoReturnsToTheCurrentTemplate(t *testing.T) {
	for sentence, test := range map[string]struct {
		current string
		number  int64
		// revisions are from the oldest to the present; "a b* c" by default.
		revisions string
		returning bool
		want      string
		err       error
	}{
		"that of the last finished rollout":            {current: "a", want: "a"},
		"the finished one before, where all have this": {current: "c", want: "b"},
		"not a broken one before, where all have this": {current: "c", revisions: "a* b c", want: "a"},
		"nothing twice, while the return is under way": {current: "c", returning: true},
		"the finished one, where none is current":      {want: "b"},
		"one that is not kept":                         {current: "gone", err: errNotKept},
		"a revision by its number":                     {current: "c", number: 1, want: "a"},
		"the present":                                  {number: 3},
		"a revision that is not there":                 {number: 4, err: errNoRevision},
	} {
		t.Run(sentence, func(t *testing.T) {
			revisions := test.revisions
			if revisions == "" {
				revisions = "a b* c"
			}
			set, history := versions(t, test.current, strings.Fields(revisions)...)
			if test.current == "gone" {
				set.Status.CurrentRevision = "gone"
			}
			if test.returning {
				set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Revision: "that before"}
			}
			patch, _, err := Undo(set, history, test.number)
			if !errors.Is(err, test.err) {
				t.Fatalf("err = %v, want %v", err, test.err)
			}
			if test.want == "" {
				if patch != nil {
					t.Errorf("patch is %s, want none", patch)
				}
				return
			}
			var got []struct {
				Path  string          `json:"path"`
				Value json.RawMessage `json:"value"`
			}
			if err := json.Unmarshal(patch, &got); err != nil {
				t.Fatal(err)
			}
			template := &workv1.ManifestWorkSpec{}
			if len(got) != 2 || got[0].Path != "/metadata/resourceVersion" || got[1].Path != "/spec/manifestWorkTemplate" {
				t.Fatalf("patch is %s", patch)
			}
			if err := json.Unmarshal(got[1].Value, template); err != nil {
				t.Fatal(err)
			}
			want := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + test.want + `"}}`
			if diff := cmp.Diff(want, string(template.Workload.Manifests[0].Raw)); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUndoTakesAnUnfinishedTemplateByNameOnly: the error has the numbers to choose from, and a return at once takes none.
func TestUndoTakesAnUnfinishedTemplateByNameOnly(t *testing.T) {
	for sentence, test := range map[string]struct{ revisions, want string }{
		"no other template":      {"a", "there is no former template to return to"},
		"none that has finished": {"a b c", "no other template is known to have been rolled out to the end: name one with --to-revision, of 2, 1"},
	} {
		set, history := versions(t, "c", strings.Fields(test.revisions)...)
		if _, _, err := Undo(set, history, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: err = %v, want %q", sentence, err, test.want)
		}
	}
	set, history := versions(t, "c", "a", "b*", "c")
	if _, err := ReturnTo(set, history, 1); !errors.Is(err, errUnfinished) {
		t.Errorf("err = %v, want %v", err, errUnfinished)
	}
	if target, err := ReturnTo(set, history, 2); err != nil || target.Number != 2 {
		t.Errorf("%+v, %v", target, err)
	}
}

// TestUndoNamesWhatHoldsIt: the pause with its user and reason, and the group that is not approved behind it; nothing where the clusters return
// at once.
func TestUndoNamesWhatHoldsIt(t *testing.T) {
	set, history := versions(t, "a", "a")
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}}
	set.Spec.PlacementRefs[0].RolloutStrategy.Approval = &clusterv1alpha1.RolloutApproval{}
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Revision: "that before"}
	placement := plan.Placement{Object: &clusterv1beta1.Placement{}, Decisions: decision.Of(&clusterv1beta1.PlacementDecision{
		ObjectMeta: metav1.ObjectMeta{Name: "p-0", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p", clusterv1beta1.DecisionGroupIndexLabel: "0"}},
		Status:     clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: "c1"}}},
	})}
	placement.Object.Name, placement.Object.Status.NumberOfSelectedClusters = "p", 1
	control := &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{Paused: true, PausedBy: "jane", PauseReason: "Friday"}}
	read := Delivery{Set: set, Placements: map[string]plan.Placement{"p": placement}, Control: control}
	holds, err := Holds(read, time.Unix(1e9, 0))
	want := []string{
		"paused by jane (Friday): starts after `kubectl berth rollout resume web -n shop`",
		"p: Group 0 waits for approval, with 1 cluster to start: starts after `kubectl berth rollout approve web -n shop --group 0`",
	}
	if diff := cmp.Diff(want, holds); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	control.Spec.ReturnNow = &rolloutv1alpha1.RolloutReturn{Revision: history[0].Hash}
	if holds, err = Holds(read, time.Unix(1e9, 0)); len(holds) > 0 || err != nil {
		t.Errorf("a return at once waits: %q, %v", holds, err)
	}
}
