package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

func TestARefusedWorkFailsItsCluster(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, maxFailures: 1}}")
	w.selects("p", "a b")
	w.faults["a"] = plan.Fault{
		Hash: w.hash(t), Permanent: true, Message: "the size of manifests is too large", Since: start, Retry: start.Add(time.Minute),
	}
	out := w.pass(t)
	w.expectWrites(t, "Create b")
	if got := out.Verdicts[0]; got.State != rollout.StateFailed || !out.Until.Equal(start.Add(time.Minute)) {
		t.Errorf("%+v, until %s", got, out.Until)
	}
	w.expectCondition(t, "ManifestworkApplied", "False", "NotAsExpected",
		"1 of 2 clusters failed: a (the API server refused the work: the size of manifests is too large)")
	w.now = start.Add(time.Minute)
	w.pass(t)
	w.expectWrites(t, "Create a")
	w.template("2")
	w.pass(t)
	w.expectWrites(t, "Update a") // the fault is of the other template
}

// TestAClusterThatIsNotWrittenIsNamed: a fault that lasts is in the conditions, and a moment is not.
func TestAClusterThatIsNotWrittenIsNamed(t *testing.T) {
	w := newState(t, "p={type: All}")
	w.selects("p", "a b")
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.faults["b"] = plan.Fault{Hash: w.hash(t), Message: `namespaces "b" not found`, Since: w.now, Retry: w.now.Add(time.Minute)}
	delete(w.stored, types.NamespacedName{Namespace: "b", Name: w.work(t, "b").Name})
	w.observe()
	w.pass(t)
	w.expectCondition(t, "PlacementRolledOut", "False", "Progressing", "1 of 2 clusters succeeded")
	w.now = w.now.Add(20 * time.Second)
	w.pass(t)
	const want = `1 of 2 clusters not written: b (the API server refused the work: namespaces "b" not found)`
	w.expectCondition(t, "PlacementRolledOut", "False", "Progressing", want)
	w.expectCondition(t, "ManifestworkApplied", "False", "NotAsExpected", want)
	if got := plan.Unwritten(w.set); got != want {
		t.Errorf("a caller without the faults reads %q", got)
	}
	applied := meta.FindStatusCondition(w.set.Status.Conditions, workv1alpha1.ManifestworkApplied)
	applied.Message = "1 of 3 clusters failed: a (out of memory); " + want
	if got := plan.Unwritten(w.set); got != want {
		t.Errorf("behind another sentence: %q", got)
	}
	if w.set.Generation++; plan.Unwritten(w.set) != "" {
		t.Error("the condition of a former spec is read")
	}
}

func TestADelayedClusterHasNotStarted(t *testing.T) {
	w := newState(t, "p="+progressive)
	w.selects("p", "a b")
	w.faults["a"] = plan.Fault{Hash: w.hash(t), Message: `namespaces "a" not found`, Since: start, Retry: start.Add(time.Minute)}
	out := w.pass(t)
	w.expectWrites(t)
	if got := out.Verdicts[0]; got.State != rollout.StateToApply || !strings.Contains(got.Message, `namespaces "a" not found`) {
		t.Errorf("%+v", got)
	}
}

func TestAnEditedWorkIsPutBackOutsideOfThePace(t *testing.T) {
	w := newState(t, "p={paused: true, type: All}")
	w.selects("p", "a")
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = false
	w.pass(t)
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true
	w.selects("p", "a b") // b waits for its turn
	w.written = nil
	work := w.work(t, "a").DeepCopy()
	work.Spec.Workload.Manifests, work.Generation = nil, 2
	w.store(work, false)
	w.observe()
	w.pass(t)
	w.expectWrites(t, "Update a")
	if got := w.clusters(t); got != "a" {
		t.Errorf("%q have the template", got)
	}
}

func TestASetWithoutManifestsTakesNothingAway(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a")
	w.pass(t)
	w.written = nil
	w.set.Spec.ManifestWorkTemplate.Workload.Manifests = nil
	w.selects("p", "a b")
	w.pass(t)
	w.expectWrites(t)
	w.expectCondition(t, "Progressing", "False", "Misconfigured", "what runs stays")
}

func TestADeletedWorkIsMadeAgainOnceItIsGone(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a")
	w.pass(t)
	w.deleteWork(types.NamespacedName{Namespace: "a", Name: plan.WorkName("shop", "web")})
	w.observe()
	w.written = nil
	w.pass(t)
	w.expectWrites(t)
	w.agents(t, "a", "", w.now)
	w.pass(t)
	w.expectWrites(t, "Create a")
}

func TestTheStatusDoesNotGrowWithTheFleet(t *testing.T) {
	w := newState(t, "p")
	var names []string
	for i := range 2000 {
		names = append(names, "cluster-"+strings.Repeat("x", 40)+time.Duration(i).String())
		w.faults[names[i]] = plan.Fault{
			Hash: w.hash(t), Permanent: true, Message: strings.Repeat("wrong ", 100), Since: start,
			Retry: start.Add(time.Hour),
		}
	}
	w.selects("p", strings.Join(names, " "))
	// The slices of a placement have at most 100 clusters, so this decision counts as being changed.
	out := w.pass(t)
	size := 0
	for _, condition := range out.Status.Conditions {
		size += len(condition.Message)
		if len(condition.Message) > 1024 {
			t.Errorf("%s has %d bytes", condition.Type, len(condition.Message))
		}
	}
	if size > 4096 || len(out.Verdicts) != 2000 {
		t.Errorf("%d bytes, %d verdicts", size, len(out.Verdicts))
	}
}

func TestTemplateHash(t *testing.T) {
	hash := func(manifest string, change func(*workv1.ManifestWorkSpec)) string {
		spec := workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{
			Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}},
		}}
		spec.DeleteOption = &workv1.DeleteOption{}
		spec.ManifestConfigs = []workv1.ManifestConfigOption{{UpdateStrategy: &workv1.UpdateStrategy{
			ServerSideApply: &workv1.ServerSideApplyConfig{
				IgnoreFields: []workv1.IgnoreField{{}},
			},
		}}}
		change(&spec)
		out, err := plan.TemplateHash(&spec)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	none := func(*workv1.ManifestWorkSpec) {}
	want := hash(`{"kind":"A","metadata":{"name":"a"},"n":12345678901234567890}`, none)
	for sentence, test := range map[string]struct {
		manifest string
		change   func(*workv1.ManifestWorkSpec)
		same     bool
	}{
		"another order": {`{"n": 12345678901234567890, "metadata":{"creationTimestamp":null,"name":"a"},"kind":"A"}`, none, true},
		"defaults": {`{"kind":"A","metadata":{"name":"a"},"n":12345678901234567890}`, func(s *workv1.ManifestWorkSpec) {
			s.DeleteOption.PropagationPolicy = "Foreground"
			s.ManifestConfigs[0].UpdateStrategy.ServerSideApply.FieldManager = "work-agent"
		}, true},
		"a large number": {`{"kind":"A","metadata":{"name":"a"},"n":12345678901234567891}`, none, false},
		"another option": {
			`{"kind":"A","metadata":{"name":"a"},"n":12345678901234567890}`,
			func(s *workv1.ManifestWorkSpec) { s.DeleteOption.PropagationPolicy = "Orphan" }, false,
		},
		"another time": {`{"kind":"A","metadata":{"name":"a","creationTimestamp":"x"},"n":12345678901234567890}`, none, false},
	} {
		if got := hash(test.manifest, test.change); (got == want) != test.same {
			t.Errorf("%s: %s and %s", sentence, got, want)
		}
	}
	broken := workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{
		Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte("{")}}},
	}}
	if _, err := plan.TemplateHash(&broken); err == nil || !strings.Contains(err.Error(), "manifest 0") {
		t.Error(err)
	}
}

func TestNothingStartsByARightThatIsBeingWithdrawn(t *testing.T) {
	w := newState(t, "p={type: All}")
	w.selects("p", "a b")
	w.pass(t)
	w.pass(t)
	w.written = nil
	withdraw := func(going map[string]string) {
		placement := w.placements["p"]
		placement.Going = going
		w.placements["p"] = placement
	}
	going := map[string]string{"a": "the ManagedClusterSet gold or its binding is gone"}
	withdraw(going)
	settled := w.set.Status.DeepCopy()
	if out := w.pass(t); !out.Until.IsZero() || !equality.Semantic.DeepEqual(settled, &w.set.Status) {
		t.Errorf("without a new template: planned again at %s, status %+v, want %+v", out.Until, w.set.Status, settled)
	}
	w.template("2")
	out := w.pass(t)
	w.expectWrites(t, "Update b")
	const want = "; not before it is certain whether they stay selected: a (the ManagedClusterSet gold or its binding is gone)"
	if got := out.Rollouts[0].Message; !strings.Contains(got, want) {
		t.Errorf("the message is %q, want %q in it", got, want)
	}
	if want := w.now.Add(time.Second); !out.Until.Equal(want) {
		t.Errorf("planned again at %s, want %s", out.Until, want)
	}
	withdraw(nil)
	w.pass(t)
	w.expectWrites(t, "Update a")
}

// TestFailOverDoesNotWaitForARightThatIsGoing: what has finished goes to a cluster that joins, whatever else is withdrawn.
func TestFailOverDoesNotWaitForARightThatIsGoing(t *testing.T) {
	w := newState(t, "p={type: All}")
	w.selects("p", "a b")
	w.pass(t)
	w.agents(t, "a b", healthy, w.now)
	w.pass(t)
	w.written = nil
	w.selects("p", "a b c")
	placement := w.placements["p"]
	placement.Going = map[string]string{"a": "the ManagedClusterSet gold or its binding is gone"}
	w.placements["p"] = placement
	w.pass(t)
	w.expectWrites(t, "Create c")
}

// TestWhyAClusterWaitsForADecision: maxConcurrency is no reason where nothing is under way, and no reason is a bare code.
func TestWhyAClusterWaitsForADecision(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1}}")
	w.selects("p", "a b")
	w.rollOut(t, "a b")
	w.template("2")
	expect := func(out plan.Result, cluster, want string) {
		t.Helper()
		at := slices.IndexFunc(out.Verdicts, func(v plan.Verdict) bool { return v.Cluster == cluster })
		if got := out.Verdicts[at].Message; got != want {
			t.Errorf("%s: %q, want %q", cluster, got, want)
		}
	}
	placement := w.placements["p"]
	withdrawn := placement
	withdrawn.Going = map[string]string{"a": "the ManagedClusterSet gold or its binding is gone"}
	w.placements["p"] = withdrawn
	out := w.pass(t)
	expect(out, "a", "does not start before it is certain whether it stays selected: the ManagedClusterSet gold or its binding is gone")
	expect(out, "b", "the clusters whose turn it is have not started")
	w.placements["p"] = placement
	w.pass(t)
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	delete(w.placements, "p")
	out = w.pass(t)
	expect(out, "a", "no placement selects the cluster, and a decision is missing; the work stays")
	expect(out, "b", "no placement selects the cluster, and a decision is missing; the work stays")
}
