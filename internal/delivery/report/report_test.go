package report_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// fleet returns a set over the groups canary and rest that has taken one step.
func fleet(t *testing.T, strategy string) *plantest.State {
	t.Helper()
	w := plantest.New(t, now, strategy, plantest.Group{Name: "canary", Clusters: []string{"a"}},
		plantest.Group{Name: "rest", Clusters: []string{"b", "c"}})
	w.Step()
	return w
}

const (
	waves = "{type: Progressive, progressive: {maxConcurrency: 1, maxFailures: 0, progressDeadline: 10m, minSuccessTime: 5m, " +
		"mandatoryDecisionGroups: [{groupName: canary}]}}"
	lenient = "{type: Progressive, progressive: {maxConcurrency: 1, maxFailures: 2, progressDeadline: 10m}}"
)

// TestNext holds what happens next in a cluster, for each code.
func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy string
		change   func(w *plantest.State)
		cluster  string
		code     rollout.Code
		want     string
	}{
		"a cluster that starts": {lenient, func(w *plantest.State) { w.Succeed("a") }, "b", rollout.Starting, "the manager writes the work"},
		"a work that no agent has reported": {
			lenient, nil, "a", rollout.UnderWay, "the agent applies generation 1 of the work, and reports it",
		},
		"a work that is not applied yet": {
			lenient, func(w *plantest.State) { w.Report("Applied=False", "a") }, "a", rollout.UnderWay, "the agent tries again, within 5 minutes",
		},
		"a work whose objects are changing": {
			lenient, func(w *plantest.State) { w.Report("Applied Progressing", "a") }, "a", rollout.UnderWay,
			"succeeds once its objects are healthy",
		},
		"a work that is being deleted": {
			lenient, func(w *plantest.State) {
				w.Works["a"].DeletionTimestamp = &metav1.Time{Time: now}
			}, "a", rollout.Starting, "the manager writes the work",
		},
		"a cluster that soaks": {
			waves, func(w *plantest.State) { w.Succeed("a") }, "a", rollout.Soaking,
			"counts as done once minSuccessTime has passed",
		},
		"a manifest that is refused": {
			lenient, func(w *plantest.State) { w.Refuse("a", "it is immutable") }, "a", rollout.Failing,
			"the agent tries again within 5 minutes, and at once when the template changes; correct the template, or what the message names",
		},
		"an object that fails": {
			lenient, func(w *plantest.State) { w.Degrade("a", "no image") }, "a", rollout.Failing,
			"recovers once its objects are healthy",
		},
		"a deadline that has passed": {
			lenient, func(w *plantest.State) { w.Wait(time.Hour) }, "a", rollout.TimedOut, "recovers once its objects are healthy",
		},
		"a cluster behind another": {lenient, nil, "b", rollout.WaitsForPlace, "starts when a cluster under way is done"},
		"a cluster behind a group": {waves, nil, "b", rollout.WaitsForGroup, "starts when group 0 (canary) is done"},
		"a paused rollout": {
			lenient, func(w *plantest.State) { w.Set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true }, "b", rollout.WaitsForResume,
			"starts after `kubectl berth rollout resume web -n shop`",
		},
		"a breached rollout": {
			waves, func(w *plantest.State) { w.Degrade("a", "no image") }, "b", rollout.WaitsForRepair,
			"starts when the failed clusters succeed: correct the template, forgive with `kubectl berth rollout forgive web " +
				"CLUSTER -n shop --reason WHY`, " +
				"or return with `kubectl berth rollout undo web -n shop`",
		},
		"a group that is not approved": {
			"{type: All, approval: {required: [{groupName: rest}]}}", func(w *plantest.State) { w.Succeed("a") }, "b", rollout.WaitsForApproval,
			"starts after `kubectl berth rollout approve web -n shop --group rest`",
		},
		"a strategy that is invalid": {
			"{type: Progressive, progressive: {progressDeadline: noon}}", nil, "a", rollout.WaitsForStrategy,
			"starts when the rolloutStrategy of placement fleet is valid and the template has a manifest",
		},
		"a cluster that leaves": {
			lenient, func(w *plantest.State) {
				w.Decide(plantest.Group{Name: "rest", Clusters: []string{"b", "c"}})
			}, "a", rollout.Left, "the manager deletes the work",
		},
		"a cluster whose placement is gone": {
			lenient, func(w *plantest.State) { w.Decide() }, "a", rollout.WaitsForDecision, "the work stays until a placement has decided",
		},
		"a cluster that is done": {lenient, func(w *plantest.State) { w.Succeed("a") }, "a", rollout.Done, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleet(t, tc.strategy)
			if tc.change != nil {
				tc.change(w)
			}
			found := report.New(w.Input())
			c, ok := found.Find(tc.cluster)
			if !ok || c.Code != tc.code || c.Next != tc.want {
				t.Errorf("got %+v, want %s: %q", c, tc.code, tc.want)
			}
		})
	}
}

// TestARefusedWriteIsSentAgain reports the refusal of the API server, and when the write is repeated.
func TestARefusedWriteIsSentAgain(t *testing.T) {
	w := plantest.New(t, now, lenient, plantest.Group{Clusters: []string{"a"}})
	in := w.Input()
	in.Faults = map[string]plan.Fault{"a": {
		Hash: in.Hash, Permanent: true, Message: "it is too large", Since: now,
		Retry: now.Add(time.Minute),
	}}
	found := report.New(in)
	c, _ := found.Find("a")
	if c.State != rollout.StateFailed || c.Next != "the manager sends the work again" || c.Retry == nil ||
		!c.Retry.Time.Equal(now.Add(time.Minute)) {
		t.Errorf("got %+v", c)
	}
}

// TestPlacementCounts holds the numbers that a live view shows.
func TestPlacementCounts(t *testing.T) {
	w := fleet(t, lenient)
	w.Succeed("a")
	w.Step()
	w.Degrade("b", "no image")
	w.Step()
	got := report.New(w.Input()).Placements[0]
	want := report.Placement{
		Name: "fleet", Strategy: "Progressive", Phase: "Waiting", Message: "1 cluster under way, 0 to start", Selected: 3, Updated: 3,
		Works: 3, Group: "1 (rest)", Done: 1, InFlight: 1, Failed: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAClusterThatIsLeftOutIsNotDone counts it by itself: a rollout that passes a cluster over has not reached it.
func TestAClusterThatIsLeftOutIsNotDone(t *testing.T) {
	w := fleet(t, "{type: All}")
	w.Succeed("a", "b")
	in := w.Input()
	in.Undeliverable = map[string]string{"c": "the cluster has no namespace"}
	if got := report.New(in).Placements[0]; got.Done != 2 || got.LeftOut != 0 {
		t.Errorf("%d done, %d left out, want 2 and none: c is under way", got.Done, got.LeftOut)
	}
	in.Works = slices.DeleteFunc(in.Works, func(work *workv1.ManifestWork) bool { return work.Namespace == "c" })
	if got := report.New(in).Placements[0]; got.Done != 2 || got.LeftOut != 1 {
		t.Errorf("%d done, %d left out, want 2 and 1", got.Done, got.LeftOut)
	}
}

// TestTheWorksOfADeletedPlacementAreCounted: works that stay are what the updated ones are counted of.
func TestTheWorksOfADeletedPlacementAreCounted(t *testing.T) {
	w := fleet(t, lenient)
	w.Succeed("a")
	in := w.Input()
	in.Placements = nil
	if got := report.New(in).Placements[0]; got.Selected != 0 || got.Updated == 0 || got.Total() != got.Works || got.Updated > got.Total() {
		t.Errorf("%d of %d are updated, %d are selected", got.Updated, got.Total(), got.Selected)
	}
	leaving := report.Placement{Selected: 2, Updated: 2, Works: 3}
	if got := leaving.Total(); got != 2 {
		t.Errorf("with a work that leaves, 2 of %d are updated", got)
	}
}

// TestNoHiddenClusterIsNamed: a report for a reader never names a cluster that the reader may not see, whatever the texts are.
func TestNoHiddenClusterIsNamed(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		names := []string{"edge-1", "edge-10", "edge", "a.b", "x"}
		text := func() string {
			words := append([]string{"failed:", "of"}, names...)
			out := ""
			for range random.IntN(4) {
				out += words[random.IntN(len(words))] + []string{" ", ", ", ". ", ") "}[random.IntN(4)]
			}
			return out
		}
		all := report.Report{Message: text(), Unwritten: text(), Placements: []report.Placement{{Message: text()}}}
		visible := map[string]bool{}
		for _, name := range names {
			visible[name] = random.IntN(2) == 0
			all.Clusters = append(all.Clusters, report.Cluster{
				Cluster: name, Message: text(), Next: text(),
				Failure: &report.Failure{Message: text()},
			})
		}
		before := encoded(t, all)
		shown := all.Visible(func(cluster string) bool { return visible[cluster] })
		if encoded(t, all) != before {
			t.Fatalf("seed %d: the report was changed", seed)
		}
		words := strings.FieldsFunc(encoded(t, shown), func(c rune) bool { return strings.ContainsRune(` "{}:,)[]`, c) })
		hidden := 0
		for _, name := range names {
			if visible[name] {
				continue
			}
			hidden++
			if slices.Contains(words, name) || slices.Contains(words, name+".") {
				t.Fatalf("seed %d: %s is named in %s", seed, name, encoded(t, shown))
			}
		}
		if shown.Hidden != hidden || len(shown.Clusters) != len(names)-hidden {
			t.Fatalf("seed %d: %d hidden, %d shown", seed, shown.Hidden, len(shown.Clusters))
		}
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestAWorkOfItsOwn explains works without a set.
func TestAWorkOfItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		conditions string
		want       rollout.State
	}{
		"new":      {"", rollout.StateProgressing},
		"healthy":  {"Applied Progressing=False", rollout.StateSucceeded},
		"degraded": {"Applied Degraded Progressing", rollout.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleet(t, lenient)
			w.Report(tc.conditions, "a")
			work := w.Works["a"]
			work.Labels, work.Annotations = nil, nil
			if got := report.OfWork(work, now); got.State != tc.want || got.Set != "" || (got.Next == "") != (tc.want == rollout.StateSucceeded) {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
}

// TestTheWorksOfAnUnknownClusterAreShownUnknown: the report is derived from the cluster, and the work stays as it is.
func TestTheWorksOfAnUnknownClusterAreShownUnknown(t *testing.T) {
	w := fleet(t, lenient)
	w.Report("Applied Progressing=False", "a")
	for status, unknown := range map[metav1.ConditionStatus]bool{
		metav1.ConditionTrue: false, metav1.ConditionFalse: false, metav1.ConditionUnknown: true,
	} {
		cluster := clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: status}}
		in, stored := w.Input(), w.Works["a"].DeepCopy()
		in.Unknown = report.UnknownOf([]clusterv1.ManagedCluster{cluster})
		found := report.New(in)
		a, _ := found.Find("a")
		b, _ := found.Find("b")
		work := report.Work{Manifests: []report.Manifest{{Applied: metav1.ConditionTrue}}}
		work.ShowUnknown(&cluster)
		if (a.Unknown != "") != unknown || b.Unknown != "" || (work.Unknown != "") != unknown {
			t.Errorf("%s: the rows are %+v and %+v, and the work is %+v", status, a, b, work)
		}
		if got := work.Manifests[0]; (got.Applied == metav1.ConditionUnknown) != unknown || got.Available != "" {
			t.Errorf("%s: the object is shown as %+v", status, got)
		}
		if diff := cmp.Diff(stored, w.Works["a"]); diff != "" {
			t.Errorf("%s: the work was changed (-before +after):\n%s", status, diff)
		}
	}
	if got := report.Unknown(nil); got != "" {
		t.Errorf("without a cluster: %q", got)
	}
}

// TestTheEndOfForgivenClusters: a rollout whose every cluster is forgiven has ended for the report, for its placements and for a live view.
func TestTheEndOfForgivenClusters(t *testing.T) {
	w := fleet(t, "{type: All}")
	for _, cluster := range []string{"a", "b", "c"} {
		w.Degrade(cluster, "boom")
	}
	w.Step()
	in := w.Input()
	in.Control = &rolloutv1alpha1.RolloutControl{}
	for _, cluster := range []string{"a", "b", "c"} {
		in.Control.Spec.Forgiven = append(in.Control.Spec.Forgiven, rolloutv1alpha1.ForgivenCluster{Cluster: cluster, Revision: in.Hash})
	}
	got := report.New(in)
	const want = "Ended: 3 forgiven, none succeeded"
	if of := got.Placements[0]; got.Phase != "Finished" || got.Message != want || of.Phase != "Finished" || of.Message != want ||
		of.Failed != 0 {
		t.Errorf("%s: %s; %+v", got.Phase, got.Message, of)
	}
	if condition := plan.Plan(in).Status.Conditions; !slices.ContainsFunc(condition,
		func(c metav1.Condition) bool { return c.Message == want }) {
		t.Errorf("no condition has the message of the report: %+v", condition)
	}
}

// TestTheEndIsStoredFirst: the report is not ahead of the record, for the set and for its placements.
func TestTheEndIsStoredFirst(t *testing.T) {
	w := fleet(t, "{type: All}")
	w.Succeed("a", "b", "c")
	if got := report.New(w.Input()); got.Phase != "Waiting" || got.Placements[0].Phase != "Waiting" {
		t.Errorf("%s, %s before the record has the end", got.Phase, got.Placements[0].Phase)
	}
	w.Step()
	if got := report.New(w.Input()); got.Phase != "Finished" || got.Placements[0].Phase != "Finished" {
		t.Errorf("%s, %s", got.Phase, got.Placements[0].Phase)
	}
}

// TestDecisionsThatCount: of what people decided a report has what counts for the present template, and no return that is over.
func TestDecisionsThatCount(t *testing.T) {
	ended := metav1.NewMicroTime(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	decide := func(revision string) *rolloutv1alpha1.TemplateDecision {
		return &rolloutv1alpha1.TemplateDecision{Revision: revision, Time: ended}
	}
	control := &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{
		ReturnNow: decide("r"), WithoutFormer: decide("r"), WithoutMissing: decide("before"),
	}}
	r := report.Report{UpdateRevision: "r"}
	r.SetControl(control, &clusterv1alpha1.RolloutRecord{})
	if d := r.Decisions; d == nil || d.ReturnNow == nil || d.WithoutFormer == nil || d.WithoutMissing != nil {
		t.Errorf("the decisions are %+v", d)
	}
	control.Spec.WithoutFormer = nil
	r = report.Report{UpdateRevision: "r"}
	r.SetControl(control, &clusterv1alpha1.RolloutRecord{Returned: &ended})
	if r.Decisions != nil {
		t.Errorf("the return is over, and the decisions are %+v", r.Decisions)
	}
}
