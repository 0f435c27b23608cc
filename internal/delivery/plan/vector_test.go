package plan_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// The tests of this file follow the conformance vectors for sets, in their order.

func TestVector1TemplateChangedAndClusterLeftInOnePass(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a b")
	w.pass(t)
	w.expectWrites(t, "Create a", "Create b")
	w.template("2")
	w.selects("p", "a")
	w.pass(t)
	w.expectWrites(t, "Update a", "Delete b")
}

func TestVector2AClusterOfTwoPlacementsHasOneWork(t *testing.T) {
	w := newState(t, "p", "q")
	w.selects("p", "a")
	w.selects("q", "a b")
	w.pass(t)
	w.expectWrites(t, "Create a", "Create b")
	if got := w.work(t, "a"); got.Labels[workv1.PlacementNameLabel] != "p" || got.Annotations[workv1.PlacementsAnnotation] != "p,q" {
		t.Errorf("labels %v, annotations %v", got.Labels, got.Annotations)
	}
	w.selects("p", "")
	w.pass(t)
	w.expectWrites(t, "UpdateMetadata a")
	if got := w.work(t, "a"); got.Labels[workv1.PlacementNameLabel] != "q" || got.Annotations[workv1.PlacementsAnnotation] != "q" ||
		got.Generation != 1 {
		t.Errorf("generation %d, labels %v, annotations %v", got.Generation, got.Labels, got.Annotations)
	}
	if got := w.set.Status.Summary; got.DesiredTotal != 2 || got.Total != 2 || got.Updated != 2 {
		t.Errorf("summary %+v", got)
	}
}

func TestVector3ThreePassesWithAFrozenCacheCreateOneWork(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a")
	w.frozen = true
	for range 3 {
		w.pass(t)
	}
	w.expectWrites(t, "Create a")
}

func TestVector4ADeletedSetLeavesNoWork(t *testing.T) {
	for _, policy := range []string{"Background", "Foreground"} {
		t.Run(policy, func(t *testing.T) {
			w := newState(t, "p")
			w.set.Spec.CascadeDeletionPolicy = workv1alpha1.CascadeDeletionPolicyType(policy)
			w.selects("p", "a b")
			w.frozen = true // the cache never shows the works
			w.pass(t)
			first := plan.TeardownOf(w.set, w.live())
			if len(first.Deletions) != 2 || first.Done != (policy == "Background") || !strings.Contains(first.Message, "2 works are left: a, b") {
				t.Fatalf("%+v", first)
			}
			for _, write := range first.Deletions {
				if err := w.apply(write, true); err != nil {
					t.Fatal(err)
				}
			}
			w.agents(t, "a b", "", w.now)
			if last := plan.TeardownOf(w.set, w.live()); !last.Done || len(last.Deletions) != 0 || len(w.stored) != 0 {
				t.Errorf("%+v with %d works", last, len(w.stored))
			}
		})
	}
}

func TestVector5AMissingPlacementStopsNoOther(t *testing.T) {
	w := newState(t, "gone", "q")
	w.selects("q", "a")
	w.pass(t)
	w.expectWrites(t, "Create a")
	w.expectCondition(t, "PlacementVerified", "False", "PlacementDecisionNotFound", "there is no Placement gone")
}

func TestVector6AForeignWorkIsLeftAlone(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*workv1.ManifestWork)
		want   []string
	}{
		"another UID":         {func(work *workv1.ManifestWork) { work.Annotations[workv1.OwnerUIDAnnotation] = "other" }, []string{"Create a"}},
		"no UID":              {func(work *workv1.ManifestWork) { delete(work.Annotations, workv1.OwnerUIDAnnotation) }, []string{"Create a"}},
		"no UID and its name": {func(work *workv1.ManifestWork) { work.Annotations, work.Name = nil, plan.WorkName("shop", "web") }, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Name: "other", UID: "u", Generation: 1,
				Labels:      map[string]string{workv1.ReplicaSetLabel: "shop.web"},
				Annotations: map[string]string{workv1.OwnerUIDAnnotation: "set-uid"},
			}}
			test.change(work)
			w.store(work, false)
			w.observe()
			w.selects("p", "a")
			w.pass(t)
			w.selects("p", "")
			w.pass(t)
			var writes []string
			for _, write := range w.written {
				if strings.HasSuffix(write, work.Namespace+"/"+work.Name) && !strings.HasPrefix(write, "Create") {
					t.Errorf("%s of the foreign work", write)
				}
				writes = append(writes, write)
			}
			if len(test.want) == 0 && len(writes) > 0 {
				t.Errorf("writes %q", writes)
			}
			w.agents(t, "a", "", w.now) // removes the work of the set that is being deleted
			w.store(work, false)
			w.observe()
			w.pass(t)
			w.expectCondition(t, "ManifestworkApplied", "False", "PlacementDecisionEmpty", "without its UID: a/"+work.Name)
		})
	}
}

func TestVector7NoClusterSelectedIsNotComplete(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "")
	w.pass(t)
	w.expectCondition(t, "PlacementRolledOut", "False", "Progressing", "no cluster is selected")
	w.expectCondition(t, "PlacementVerified", "False", "PlacementDecisionEmpty", "no cluster is selected")
	if w.set.Status.CurrentRevision != "" {
		t.Error("a revision counts as reached")
	}
}

func TestVector8OnlyADecisionRemovesWorks(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*state)
		want   []string
	}{
		"all slices are gone":   {func(w *state) { w.selects("p", "-") }, nil},
		"the Placement is gone": {func(w *state) { delete(w.placements, "p") }, nil},
		"it is being deleted":   {func(w *state) { w.placements["p"].Object.DeletionTimestamp = new(metav1.NewTime(start)) }, nil},
		"a slice is missing": {func(w *state) {
			p := w.placements["p"]
			p.Decisions = decision.Of(slice("p", 0, 0, "a"))
			w.placements["p"] = p
		}, nil},
		"slices are being moved":    {func(w *state) { w.selects("p", "a|a") }, nil},
		"the spec has a wrong name": {func(w *state) { w.set.Spec.PlacementRefs[0].Name = "typo" }, nil},
		"no cluster is selected":    {func(w *state) { w.selects("p", "") }, []string{"Delete a", "Delete b"}},
		"one cluster left":          {func(w *state) { w.selects("p", "b") }, []string{"Delete a"}},
		"the spec has another placement": {func(w *state) {
			w.set.Spec.PlacementRefs[0].Name = "q"
			w.selects("q", "b c")
		}, []string{"Delete a", "UpdateMetadata b", "Create c"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p")
			w.selects("p", "a b")
			w.pass(t)
			w.written = nil
			test.change(w)
			out := w.pass(t)
			w.expectWrites(t, test.want...)
			for _, verdict := range out.Verdicts {
				if len(test.want) == 0 && verdict.Code == rollout.Left {
					t.Errorf("%+v", verdict)
				}
			}
		})
	}
}

func TestVector10LongNames(t *testing.T) {
	namespace, set := strings.Repeat("n", 63), strings.Repeat("s", 60)+".io"
	label := plan.SetLabelValue(namespace, set)
	if len(label) > 63 || len(plan.WorkName(namespace, set)) > 63 {
		t.Errorf("label %q, name %q", label, plan.WorkName(namespace, set))
	}
	w := newState(t, "p")
	w.set.Namespace, w.set.Name = namespace, set
	w.selects("p", "a")
	w.pass(t)
	work := w.work(t, "a")
	gotNamespace, gotSet, ok := plan.SetOf(work.Labels, work.Annotations)
	if gotNamespace != namespace || gotSet != set || !ok {
		t.Errorf("%s/%s, %t", gotNamespace, gotSet, ok)
	}
	if gotNamespace, gotSet, ok = plan.SetOf(map[string]string{workv1.ReplicaSetLabel: "ns.a.b"}, nil); gotNamespace != "ns" ||
		gotSet != "a.b" || !ok {
		t.Errorf("%s/%s, %t", gotNamespace, gotSet, ok)
	}
}

func TestVector11LabelsOfTheSetAreNoRollout(t *testing.T) {
	w := newState(t, "p="+progressive)
	w.selects("p", "a b")
	w.set.Labels = map[string]string{"team": "x", "old": "1"}
	w.pass(t)
	w.agents(t, "a", "Applied Available Progressing=False", w.now)
	w.pass(t)
	w.written = nil
	w.set.Labels = map[string]string{"team": "y"}
	w.pass(t)
	w.expectWrites(t, "UpdateMetadata a", "UpdateMetadata b")
	for _, cluster := range []string{"a", "b"} {
		if got := w.work(t, cluster); got.Labels["team"] != "y" || got.Labels["old"] != "" || got.Generation != 1 {
			t.Errorf("%s: generation %d, labels %v", cluster, got.Generation, got.Labels)
		}
	}
	w.pass(t)
	w.expectWrites(t)
}

func TestVector15ProgressiveAdvances(t *testing.T) {
	for sentence, conditions := range map[string]string{
		"by Available of an agent of OCM":   "Applied Available",
		"by the health of an agent of ours": "Applied Available Degraded=False Progressing=False",
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p="+progressive)
			w.selects("p", "a b c")
			for _, want := range []string{"a", "a b", "a b c"} {
				w.pass(t)
				w.pass(t)
				if got := w.clusters(t); got != want {
					t.Fatalf("%q have the template, want %q", got, want)
				}
				w.agents(t, want, "Applied Available=False", w.now)
				w.pass(t)
				if got := w.clusters(t); got != want {
					t.Fatalf("%q have the template before the last one is available, want %q", got, want)
				}
				w.agents(t, want, conditions, w.now)
			}
			w.pass(t)
			w.expectCondition(t, "PlacementRolledOut", "True", "Complete", "3 of 3 clusters succeeded")
			w.expectCondition(t, "ManifestworkApplied", "True", "AsExpected", "")
			w.expectCondition(t, "Progressing", "False", "Finished", "Rolled out to 3 clusters")
			if got := w.set.Status.PlacementsSummary[0].AvailableDecisionGroups; got != "1 (3 / 3 clusters applied)" {
				t.Error(got)
			}
			if got := w.set.Status; got.CurrentRevision != w.hash(t) || got.UpdateRevision != w.hash(t) {
				t.Errorf("revisions %s, %s", got.CurrentRevision, got.UpdateRevision)
			}
		})
	}
}

// failing reports that a manifest of a work is not applied.
func (s *state) failing(t testing.TB, cluster, message string) {
	t.Helper()
	work := s.work(t, cluster)
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{
		{
			ResourceMeta: workv1.ManifestResourceMeta{Kind: "Namespace", Name: "shop"},
			Conditions:   []metav1.Condition{{Type: "Applied", Status: "True"}},
		},
		{
			ResourceMeta: workv1.ManifestResourceMeta{Ordinal: 1, Kind: "Deployment", Namespace: "shop", Name: "web"},
			Conditions:   []metav1.Condition{{Type: "Applied", Status: "False", Message: message}},
		},
	}
	s.agents(t, cluster, "Applied=False", s.now)
}

func TestVector16AnInvalidManifestFailsAtOnce(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, maxFailures: 1, progressDeadline: 1h}}")
	w.selects("p", "a b c d")
	w.pass(t)
	w.failing(t, "a", workv1.PermanentFailurePrefix+"spec.replicas must not be negative")
	w.pass(t)
	if got := w.clusters(t); got != "a b" {
		t.Fatalf("%q have the template: one failure is allowed", got)
	}
	w.failing(t, "b", workv1.PermanentFailurePrefix+"spec.replicas must not be negative")
	w.pass(t)
	w.pass(t)
	if got := w.clusters(t); got != "a b" {
		t.Errorf("%q have the template after two failures", got)
	}
	w.expectCondition(t, "Progressing", "False", "Breached", "2 clusters of 4 failed")
	w.expectCondition(t, "PlacementRolledOut", "False", "Progressing",
		"2 of 4 clusters failed: a (Deployment shop/web: spec.replicas must not be negative), b")
}

func TestAManifestThatMayYetApplyWaitsForTheDeadline(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, progressDeadline: 1h}}")
	w.selects("p", "a b")
	w.pass(t)
	w.failing(t, "a", "the server is unavailable")
	out := w.pass(t)
	if out.Verdicts[0].State != rollout.StateProgressing || !out.Verdicts[0].Until.Equal(start.Add(time.Hour)) {
		t.Errorf("%+v", out.Verdicts[0])
	}
	out = w.runTo(t, start.Add(time.Hour))
	if out.Verdicts[0].Code != rollout.TimedOut || !strings.Contains(out.Verdicts[0].Message,
		"Deployment shop/web: the server is unavailable") {
		t.Errorf("%+v", out.Verdicts[0])
	}
}

func TestVector17OneDegradedManifestFailsTheCluster(t *testing.T) {
	w := newState(t, "p="+progressive)
	w.selects("p", "a b")
	w.pass(t)
	w.agents(t, "a", "Applied Available Progressing Degraded", w.now)
	out := w.pass(t)
	if out.Verdicts[0].State != rollout.StateFailed || w.clusters(t) != "a" {
		t.Errorf("%+v; %q have the template", out.Verdicts[0], w.clusters(t))
	}
}

const soaking = "{type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 10m}}"

func TestVector18ASecondRolloutSoaksItsFullTime(t *testing.T) {
	w := newState(t, "p="+soaking)
	w.selects("p", "a b")
	w.pass(t)
	w.agents(t, "a", "Applied Available Progressing=False", start)
	w.runTo(t, start.Add(10*time.Minute))
	w.agents(t, "b", "Applied Available Progressing=False", w.now)
	w.template("2")
	w.runTo(t, start.Add(20*time.Minute))
	began := w.now
	w.agents(t, "a", "Applied Available Progressing=False", start) // the times of the conditions are of the first rollout
	if out := w.pass(t); w.clusters(t) != "a" || !out.Verdicts[0].Until.Equal(began.Add(10*time.Minute)) {
		t.Errorf("%q have the template, until %s", w.clusters(t), out.Verdicts[0].Until)
	}
	if w.runTo(t, began.Add(10*time.Minute-time.Second)); w.clusters(t) != "a" {
		t.Error("the soak time was cut short")
	}
	if w.runTo(t, began.Add(10*time.Minute)); w.clusters(t) != "a b" {
		t.Errorf("%q have the template", w.clusters(t))
	}
}

func TestVector20AnAgentsClockAheadSkipsNoSoak(t *testing.T) {
	w := newState(t, "p="+soaking)
	w.selects("p", "a b")
	w.pass(t)
	w.agents(t, "a", "Applied Available Progressing=False", start.Add(time.Hour))
	if out := w.pass(t); w.clusters(t) != "a" || !out.Verdicts[0].Since.Equal(start) || out.Verdicts[0].Code != rollout.Soaking {
		t.Errorf("%q have the template: %+v", w.clusters(t), out.Verdicts[0])
	}
}

func TestVector14WorksOfOCMAreAdopted(t *testing.T) {
	w := newState(t, "p", "q")
	w.selects("p", "a")
	w.selects("q", "a")
	for i, placement := range []string{"q", "p"} {
		w.store(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "web" + placement, GenerateName: "web", UID: types.UID(placement), Generation: 3,
			Finalizers:        []string{workv1.ManifestWorkFinalizer},
			Labels:            map[string]string{workv1.ReplicaSetLabel: "shop.web", workv1.PlacementNameLabel: placement},
			CreationTimestamp: metav1.NewTime(start.Add(time.Duration(i-9) * time.Hour)),
		}, Spec: w.set.Spec.ManifestWorkTemplate}, false)
	}
	w.observe()
	w.pass(t)
	w.expectWrites(t, "Update a/webq")
	w.pass(t)
	w.expectWrites(t, "UpdateMetadata a/webq") // the generation did not move
	w.pass(t)
	w.expectWrites(t)
	w.agents(t, "a", "Applied Available", w.now)
	w.pass(t)
	w.expectWrites(t, "Delete a/webp")
}

// TestNoClusterStartsBeforeTheCanariesAreDecided holds that a decision whose first slice is not read yet starts no cluster of another
// group.
func TestNoClusterStartsBeforeTheCanariesAreDecided(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 2, mandatoryDecisionGroups: [{groupIndex: 0}]}}")
	w.selects("p", "a|b c")
	complete := w.placements["p"]
	partial := complete
	partial.Decisions = decision.Of(slice("p", 1, 1, "b", "c"))
	w.placements["p"] = partial
	w.pass(t)
	w.expectWrites(t)
	w.expectCondition(t, "Progressing", "False", "Undecided", "Groups of the decision may be missing, so no cluster starts: the status has 3 "+
		"clusters, the slices have 2")
	w.placements["p"] = complete
	w.pass(t)
	w.expectWrites(t, "Create a")
}
