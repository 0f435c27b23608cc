package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// breaking returns a hub whose clusters have template 1 and are about to get template 2, at most two at a time and without failures.
func breaking(t *testing.T, failureStrategy workv1alpha1.FailureStrategy) *state {
	t.Helper()
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 2}}")
	w.set.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = failureStrategy
	w.selects("p", "a b c d")
	w.rollOut(t, "a b c d")
	w.kept[w.hash(t)] = true
	w.template("2")
	w.written = nil
	return w
}

func TestABreachedRolloutIsAborted(t *testing.T) {
	w := breaking(t, workv1alpha1.AbortAll)
	w.pass(t)
	w.expectWrites(t, "Update a", "Update b")
	w.agents(t, "a", healthy, w.now)
	w.agents(t, "b", "Applied Degraded Progressing", w.now)
	out := w.pass(t)
	w.expectWrites(t) // the instant is stored before any cluster returns
	if w.set.Status.AbortedTime == nil || !out.Until.Equal(w.now) {
		t.Fatalf("aborted %v, until %v", w.set.Status.AbortedTime, out.Until)
	}
	w.pass(t)
	w.expectWrites(t, "Update a", "Update b")
	for _, cluster := range []string{"a", "b", "c", "d"} {
		if got := w.data(t, cluster); got != "value=1 site=" {
			t.Errorf("%s has %q", cluster, got)
		}
	}
	if flying := w.pass(t).Rollouts[0].InFlight; flying != 2 {
		t.Errorf("%d clusters are under way while two return", flying)
	}
	w.agents(t, "a b c d", healthy, w.now)
	if flying := w.pass(t).Rollouts[0].InFlight; flying != 0 {
		t.Errorf("%d clusters are under way, and all have returned", flying)
	}
	w.expectWrites(t)
	w.expectCondition(t, "Progressing", "False", "Breached", "The rollout is aborted because of b: 4 of 4 clusters run the template of the "+
		"last finished rollout; change the template, or remove failureStrategy to go on")
	w.selects("p", "a b c d e")
	w.pass(t)
	w.expectWrites(t, "Create e")
	if got := w.data(t, "e"); got != "value=1 site=" {
		t.Errorf("e has %q", got)
	}
	w.template("3")
	w.pass(t)
	w.expectWrites(t, "Update a", "Update b")
	if w.set.Status.AbortedTime != nil {
		t.Error("the rollout of another template counts as aborted")
	}
}

// TestTheSentenceOfAnAbort: it counts where each cluster is, and only a cluster on its way back is under way.
func TestTheSentenceOfAnAbort(t *testing.T) {
	const before, after = "The rollout is aborted because of b: ", "; change the template, or remove failureStrategy to go on"
	for sentence, tc := range map[string]struct {
		change   func(*testing.T, *state)
		want     string
		inFlight int
		why      string
	}{
		"none is back": {
			func(*testing.T, *state) {}, "2 of 4 clusters run the template of the last finished rollout, 2 on the way back", 2,
			"is on the way back to the template of the last finished rollout: the rollout is aborted because of b",
		},
		"one is back": {
			func(t *testing.T, w *state) { w.agents(t, "a", healthy, w.now) },
			"3 of 4 clusters run the template of the last finished rollout, 1 on the way back", 1,
			"is on the way back to the template of the last finished rollout: the rollout is aborted because of b",
		},
		"all are back": {
			func(t *testing.T, w *state) { w.agents(t, "a b", healthy, w.now) },
			"4 of 4 clusters run the template of the last finished rollout", 0,
			"runs the template of the last finished rollout: the rollout is aborted because of b",
		},
		"one fails on its way back": {
			func(t *testing.T, w *state) {
				w.agents(t, "a", healthy, w.now)
				w.agents(t, "b", failing, w.now)
			}, "3 of 4 clusters run the template of the last finished rollout, 1 failing with it", 0,
			"fails with the template of the last finished rollout: its work is Degraded",
		},
		"the deadline of the template passes": {
			func(t *testing.T, w *state) {
				w.agents(t, "a b", healthy, w.now)
				w.runTo(t, w.now.Add(time.Hour))
			}, "4 of 4 clusters run the template of the last finished rollout", 0,
			"runs the template of the last finished rollout: the rollout is aborted because of b",
		},
		"one gets no works": {
			func(t *testing.T, w *state) {
				w.agents(t, "a", healthy, w.now)
				w.undeliverable = map[string]string{"b": "no agent"}
			}, "3 of 4 clusters run the template of the last finished rollout, 1 left out", 0, "it keeps what it has: no agent",
		},
		"the former template is lost meanwhile": {
			func(t *testing.T, w *state) {
				w.agents(t, "a", healthy, w.now)
				clear(w.kept)
			}, "3 of 4 clusters run the template of the last finished rollout, and no other returns: the template of the last finished " +
				"rollout is not kept", 0, "The rollout is aborted because of b: 3 of 4 clusters run",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := abortedUnderWay(t)
			tc.change(t, w)
			out := w.pass(t)
			w.expectCondition(t, "Progressing", "False", "Breached", before+tc.want+after)
			if got := out.Rollouts[0].InFlight; got != tc.inFlight {
				t.Errorf("%d are under way, want %d", got, tc.inFlight)
			}
			for _, verdict := range out.Verdicts {
				if verdict.Code != rollout.WaitsForRepair && verdict.Code != rollout.Failing {
					t.Errorf("%s is %s", verdict.Cluster, verdict.Code)
				}
				if verdict.Cluster == "b" && !strings.HasPrefix(verdict.Message, tc.why) {
					t.Errorf("b: %s, want %s", verdict.Message, tc.why)
				}
			}
		})
	}
}

// abortedUnderWay returns a set whose rollout was aborted because of b, while a was under way.
func abortedUnderWay(t *testing.T) *state {
	t.Helper()
	w := breaking(t, workv1alpha1.AbortAll)
	w.set.Spec.PlacementRefs[0].RolloutStrategy.RolloutStrategy = parseStrategy(t,
		"{type: Progressive, progressive: {maxConcurrency: 2, progressDeadline: 10m}}").RolloutStrategy
	w.pass(t)
	w.agents(t, "a", moving, w.now)
	w.agents(t, "b", failing, w.now)
	w.pass(t)
	w.pass(t)
	return w
}

// TestALateStartAfterAnAbort: a cluster that was under way when the rollout was aborted has the whole deadline when the rollout goes on.
func TestALateStartAfterAnAbort(t *testing.T) {
	w := abortedUnderWay(t)
	w.agents(t, "a b", healthy, w.now)
	w.pass(t)
	w.now = w.now.Add(time.Hour)
	w.set.Status.Rollout.ObservedTime = metav1.NewMicroTime(w.now) // a manager has watched all along
	w.set.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
	w.pass(t)
	w.agents(t, "b", healthy, w.now)
	w.runTo(t, w.now.Add(time.Minute))
	if got := w.data(t, "a"); got != "value=2 site=" {
		t.Fatalf("a has %q, and nothing holds the rollout", got)
	}
	w.agents(t, "a", moving, w.now)
	w.runTo(t, w.now.Add(5*time.Minute))
	if entry := w.entry("a"); entry.Phase != clusterv1alpha1.ClusterInFlight {
		t.Errorf("a: %s, %s", entry.Phase, entry.Reason)
	}
	w.runTo(t, w.now.Add(10*time.Minute))
	if entry := w.entry("a"); entry.Phase != clusterv1alpha1.ClusterFailed {
		t.Errorf("a: %s, want a failure after the deadline", entry.Phase)
	}
}

func TestAUserEndsAnAbort(t *testing.T) {
	w := breaking(t, workv1alpha1.AbortAll)
	w.pass(t)
	w.agents(t, "a b", "Applied Degraded Progressing", w.now)
	w.pass(t)
	w.pass(t)
	w.set.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
	w.written = nil
	w.pass(t)
	w.expectWrites(t, "Update a", "Update b")
	if w.set.Status.AbortedTime != nil || w.data(t, "a") != "value=2 site=" {
		t.Errorf("aborted %v, a has %q", w.set.Status.AbortedTime, w.data(t, "a"))
	}
}

func TestWhatIsNotAborted(t *testing.T) {
	for sentence, test := range map[string]struct {
		strategy workv1alpha1.FailureStrategy
		change   func(*state)
		want     string
	}{
		"without AbortAll": {"", func(*state) {}, "1 cluster of 4 failed"},
		"the template is not kept": {
			workv1alpha1.AbortAll, func(w *state) { clear(w.kept) },
			"the rollout is not aborted: the template of the last finished rollout is not kept",
		},
		"no template reached everywhere": {
			workv1alpha1.AbortAll, func(w *state) { w.set.Status.CurrentRevision = "" },
			"the rollout is not aborted: no rollout of the set has finished before",
		},
		"definitions differ": {workv1alpha1.AbortAll, func(w *state) {
			w.obstacle = "the templates differ in CustomResourceDefinition a"
		}, "the rollout is not aborted: the templates differ in"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := breaking(t, test.strategy)
			w.pass(t)
			w.agents(t, "b", "Applied Degraded Progressing", w.now)
			test.change(w)
			w.written = nil
			w.pass(t)
			w.pass(t)
			w.expectWrites(t)
			w.expectCondition(t, "Progressing", "False", "Breached", test.want)
			if w.set.Status.AbortedTime != nil {
				t.Error("the rollout counts as aborted")
			}
		})
	}
}

func TestReturnObstacle(t *testing.T) {
	spec := func(manifests ...string) *workv1.ManifestWorkSpec {
		out := &workv1.ManifestWorkSpec{}
		for _, text := range manifests {
			manifest := workv1.Manifest{}
			manifest.Raw = []byte(text)
			out.Workload.Manifests = append(out.Workload.Manifests, manifest)
		}
		return out
	}
	const one = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a"},"spec":{"x":1}}`
	const same = `{"kind":"CustomResourceDefinition","metadata":{"name":"a", "creationTimestamp": null},"spec":{"x":1},"apiVersion":"apiextensions.k8s.io/v1"}`
	other := strings.ReplaceAll(one, `"x":1`, `"x":2`)
	const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	for sentence, test := range map[string]struct {
		from, to *workv1.ManifestWorkSpec
		want     string
	}{
		"no definition":      {spec(configMap), spec(), ""},
		"the same":           {spec(one, configMap), spec(same), ""},
		"another version":    {spec(one), spec(other), "the templates differ in CustomResourceDefinition a"},
		"a new definition":   {spec(one), spec(configMap), "the templates differ in CustomResourceDefinition a"},
		"a definition fewer": {spec(), spec(one), "the templates differ in CustomResourceDefinition a"},
	} {
		if got := plan.ReturnObstacle(test.from, test.to); got != test.want {
			t.Errorf("%s: %q, want %q", sentence, got, test.want)
		}
	}
}

// TestNoClusterStartsAfterAnAbort follows random histories in which every placement has AbortAll. Once the status has the instant, no write
// stores the template, until there is another one.
func TestNoClusterStartsAfterAnAbort(t *testing.T) {
	aborts, returns := 0, 0
	for seed := range uint64(histories / 2) {
		h := newHistory(t, seed)
		for i := range h.set.Spec.PlacementRefs {
			h.set.Spec.PlacementRefs[i].RolloutStrategy.RolloutStrategy = parseStrategy(t,
				"{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 0}}").RolloutStrategy
			h.set.Spec.PlacementRefs[i].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
		}
		h.calm()
		h.settle(t)
		h.kept[h.hash(t)] = true
		h.template("broken")
		for tick := range ticks {
			h.at = fmt.Sprintf("seed %d, tick %d", seed, tick)
			in := h.input(t)
			out := plan.Plan(in)
			stopped := in.Set.Status.AbortedTime != nil && in.Set.Status.UpdateRevision == in.Hash && out.Status.AbortedTime != nil
			for _, write := range out.Writes {
				if stopped && write.Revision == in.Hash {
					t.Fatalf("%s: %s of %s starts after the abort", h.at, write.Verb, write.Cluster)
				}
				if stopped && write.Revision != "" {
					returns++
				}
			}
			if stopped {
				aborts++
			}
			h.faulty(t, out.Writes)
			h.set.Status = out.Status
			h.tick(t)
		}
	}
	if aborts == 0 || returns == 0 {
		t.Errorf("%d plans of aborted rollouts, %d returns: the histories do not reach them", aborts, returns)
	}
}

func TestApprovalsForAnotherRevisionDoNotCount(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 5}, approval: {approved: [{groupIndex: 0}]}}")
	w.selects("p", "a")
	approval := w.set.Spec.PlacementRefs[0].RolloutStrategy.Approval
	approval.Revision = w.hash(t)
	w.pass(t)
	w.expectWrites(t, "Create a")
	w.agents(t, "a", healthy, w.now)
	w.template("2")
	w.pass(t)
	w.expectWrites(t)
	w.expectCondition(t, "Progressing", "False", "Unapproved", "")
	approval.Revision = w.hash(t)
	w.pass(t)
	w.expectWrites(t, "Update a")
	w.template("3")
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Approval = &clusterv1alpha1.RolloutApproval{Approved: approval.Approved}
	w.pass(t)
	w.expectWrites(t, "Update a") // approvals without a revision count for each
}
