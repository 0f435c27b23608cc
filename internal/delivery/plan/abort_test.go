package plan_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
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
		"last finished rollout again")
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
