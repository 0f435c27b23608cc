package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
		if name == "secret" {
			manifest.Raw = []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"secret"}}`)
		}
		set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{manifest}
		hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
		if err != nil {
			t.Fatal(err)
		}
		var stored []plan.Revision
		for _, one := range history {
			stored = append(stored, one.stored)
		}
		planned, err := plan.Revisions(set, hash, stored)
		if err != nil {
			t.Fatal(err)
		}
		made := Revision{
			Number: plan.RevisionNumber(planned.Create), Hash: hash, Current: name == current, Finished: finished,
			stored: planned.Create,
		}
		if made.Current {
			set.Status.CurrentRevision, made.Finished = hash, true
		}
		history = append([]Revision{made}, history...)
		if name == current {
			set.Status.CurrentRevision = hash
		}
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
			patch, _, err := Undo(set, Past{Revisions: history}, test.number)
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
		"no other template": {"a", "there is no former template to return to"},
		"none that has finished": {"a b c", "no other template is known to have been rolled out to the end: name one " +
			"with --to-revision, of 2, 1"},
	} {
		set, history := versions(t, "c", strings.Fields(test.revisions)...)
		if _, _, err := Undo(set, Past{Revisions: history}, 0); err == nil || !strings.Contains(err.Error(), test.want) {
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

// TestUndoNamesWhatHoldsIt: the pause with its user and reason, and the group that is not approved behind it; nothing where the clusters
// return at once.
func TestUndoNamesWhatHoldsIt(t *testing.T) {
	set, history := versions(t, "a", "a")
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "p"}}
	set.Spec.PlacementRefs[0].RolloutStrategy.Approval = &clusterv1alpha1.RolloutApproval{}
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Revision: "that before"}
	placement := plan.Placement{Object: &clusterv1beta1.Placement{}, Decisions: decision.Of(&clusterv1beta1.PlacementDecision{
		ObjectMeta: metav1.ObjectMeta{Name: "p-0", Labels: map[string]string{
			clusterv1beta1.PlacementLabel:          "p",
			clusterv1beta1.DecisionGroupIndexLabel: "0",
		}},
		Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: "c1"}}},
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
	control.Spec.ReturnNow = &rolloutv1alpha1.TemplateDecision{Revision: history[0].Hash}
	if holds, err = Holds(read, time.Unix(1e9, 0)); len(holds) > 0 || err != nil {
		t.Errorf("a return at once waits: %q, %v", holds, err)
	}
}

// TestHistoryOfTemplatesWithSecrets: a user who may list them sees and returns to them. Any other user gets the rest, and what to do.
func TestHistoryOfTemplatesWithSecrets(t *testing.T) {
	set, history := versions(t, "b", "a", "b", "secret", "c")
	for i := range history { // the finished one is the Secret
		history[i].Current = history[i].Number == 3
	}
	set.Status.CurrentRevision = history[1].Hash
	resource := rolloutv1alpha1.Resource("formertemplates")
	forbidden := apierrors.NewForbidden(resource, "", errBoom)
	for sentence, test := range map[string]struct {
		refuses    error
		number     int64
		listed     int
		want       string
		hint, fail string
	}{
		"it may":                 {nil, 0, 4, `"kind":"Secret"`, "", ""},
		"it may not":             {forbidden, 0, 3, "", "may not list formertemplates in the namespace shop", "write it into the set"},
		"it may not, by number":  {forbidden, 3, 3, "", "may not list", "no such revision"},
		"it may not, another":    {forbidden, 1, 3, `"name":"a"`, "may not list", ""},
		"the hub lacks the kind": {apierrors.NewNotFound(resource, ""), 0, 3, "", "", "not among the kept ones"},
	} {
		t.Run(sentence, func(t *testing.T) {
			past, err := History(t.Context(), hubOf(t, history, test.refuses), set)
			hinted := strings.Contains(past.Hidden, test.hint) && (past.Hidden == "") == (test.hint == "")
			if err != nil || len(past.Revisions) != test.listed || !hinted {
				t.Fatalf("%+v, %v", past, err)
			}
			patch, _, err := Undo(set, past, test.number)
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("err = %v, want %q in it", err, test.fail)
				}
				return
			}
			if err != nil || !strings.Contains(string(patch), test.want) {
				t.Errorf("patch is %s, %v", patch, err)
			}
		})
	}
}

// TestFormerReaderReadsTemplatesWithSecrets: a status or a plan is made with them, unless the user may not list them.
func TestFormerReaderReadsTemplatesWithSecrets(t *testing.T) {
	for sentence, test := range map[string]struct {
		current string
		refuses error
		want    string
		err     error
	}{
		"it is a Secret":                        {"secret", nil, `"kind":"Secret"`, nil},
		"it is a Secret, and the user may not":  {"secret", errBoom, "", errBoom},
		"it is no Secret, and the user may not": {"a", errBoom, `"name":"a"`, nil},
		"it is the present one":                 {"c", errBoom, `"name":"c"`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			set, history := versions(t, test.current, "a", "secret", "c")
			got, err := (&FormerReader{Hub: hubOf(t, history, test.refuses)}).Read(t.Context(), set)
			if !errors.Is(err, test.err) {
				t.Fatalf("err = %v, want %v", err, test.err)
			}
			if test.err == nil && !strings.Contains(string(got.Workload.Manifests[0].Raw), test.want) {
				t.Errorf("the template is %s", got.Workload.Manifests[0].Raw)
			}
		})
	}
}

var errBoom = errors.New("boom")

// hubOf returns a hub with kept templates. It refuses to list FormerTemplates where refuses is set.
func hubOf(t *testing.T, history []Revision, refuses error) client.Client {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, rolloutv1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(kinds)
	for _, one := range history {
		builder = builder.WithRuntimeObjects(one.stored.DeepCopyObject())
	}
	return builder.WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, hub client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*rolloutv1alpha1.FormerTemplateList); is && refuses != nil {
				return refuses
			}
			return hub.List(ctx, list, options...)
		},
	}).Build()
}

// TestFinishWithoutMissing: it needs a rollout of the present template that misses clusters.
func TestFinishWithoutMissing(t *testing.T) {
	now := time.Unix(1, 0)
	set, history := versions(t, "a", "a", "b")
	set.Status.UpdateRevision, set.Status.Rollout = history[0].Hash, &clusterv1alpha1.RolloutRecord{}
	if _, err := FinishWithoutMissing(set, "", now); !errors.Is(err, errNoneMissing) {
		t.Errorf("err = %v, want %v", err, errNoneMissing)
	}
	set.Status.Rollout.Missing = 2
	change, err := FinishWithoutMissing(set, "two are sold", now)
	if err != nil {
		t.Fatal(err)
	}
	decided := &rolloutv1alpha1.RolloutControlSpec{}
	want := rolloutv1alpha1.TemplateDecision{Revision: history[0].Hash, By: "jane", Reason: "two are sold", Time: metav1.NewMicroTime(now)}
	if !change(decided, "jane") || decided.WithoutMissing == nil || *decided.WithoutMissing != want || change(decided, "jane") {
		t.Errorf("%+v", decided)
	}
	set.Status.UpdateRevision = "another" // the record is of another template
	if _, err := FinishWithoutMissing(set, "", now); !errors.Is(err, errNoneMissing) {
		t.Errorf("err = %v, want %v", err, errNoneMissing)
	}
}

// TestStartWithoutFormer: it needs a set that waits for its former template, and counts for the present one.
func TestStartWithoutFormer(t *testing.T) {
	now := time.Unix(1, 0)
	set, history := versions(t, "a", "a", "b")
	if _, err := StartWithoutFormer(set, "", now); !errors.Is(err, errNotHeld) {
		t.Errorf("err = %v, want %v", err, errNotHeld)
	}
	set.Status.Conditions = []metav1.Condition{
		{Type: workv1alpha1.FormerTemplateUnkept, Status: metav1.ConditionTrue, Reason: plan.ReasonFormerUnkept},
	}
	change, err := StartWithoutFormer(set, "no way back", now)
	if err != nil {
		t.Fatal(err)
	}
	decided := &rolloutv1alpha1.RolloutControlSpec{}
	want := rolloutv1alpha1.TemplateDecision{Revision: history[0].Hash, By: "jane", Reason: "no way back", Time: metav1.NewMicroTime(now)}
	if !change(decided, "jane") || decided.WithoutFormer == nil || *decided.WithoutFormer != want || change(decided, "jane") {
		t.Errorf("%+v", decided)
	}
	started := metav1.NewMicroTime(now.Add(time.Hour))
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Revision: history[0].Hash, StartedTime: started}
	decided.WithoutFormer.StartedTime = new(metav1.NewMicroTime(now)) // that of an earlier rollout
	if !change(decided, "jane") || !decided.WithoutFormer.StartedTime.Equal(&started) || change(decided, "jane") {
		t.Errorf("%+v", decided.WithoutFormer)
	}
}

// TestUndoOfAReturn: where the set returns already, a return without a name would put the template back that was left.
func TestUndoOfAReturn(t *testing.T) {
	set, history := versions(t, "b", "a*", "b*")
	set.Status.CurrentRevision = history[0].Hash // b finished last, and the set has a again
	a := history[1].Hash
	set.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	if hash, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate); err != nil || hash != a {
		t.Fatalf("%s, %v, want %s", hash, err, a)
	}
	const want = "the set returns to revision 1 already, and left revision 2: `--now --to-revision 1` hurries the return, and " +
		"`--to-revision 2` calls it off"
	for _, number := range []int64{0, 1, 2} {
		_, _, err := Undo(set, Past{Revisions: history}, number)
		switch {
		case number == 0 && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("err = %v, want %s", err, want)
		case number > 0 && err != nil:
			t.Errorf("to revision %d: %v", number, err)
		}
	}
}

// TestUndoOfOverrides: the set has the template already, and no revision keeps its former overrides.
func TestUndoOfOverrides(t *testing.T) {
	set, history := versions(t, "a", "a*")
	set.Status.CurrentRevision = history[0].Hash
	set.Status.Rollout = &clusterv1alpha1.RolloutRecord{Revision: history[0].Hash + "-before"}
	const want = "rolls out other overrides for it, which no revision keeps: apply its file with the former overrides"
	for _, number := range []int64{0, 1} {
		if _, _, err := Undo(set, Past{Revisions: history}, number); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("to revision %d: err = %v, want %s", number, err, want)
		}
	}
}
