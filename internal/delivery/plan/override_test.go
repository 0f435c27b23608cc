package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

const healthy = "Applied Available Degraded=False Progressing=False"

func TestOverridesAreRenderedForEachCluster(t *testing.T) {
	w := newState(t, "p")
	w.overrides(t, siteOverride)
	w.selects("p", "a b")
	w.label("a", "north")
	w.label("b", "south")
	w.pass(t)
	w.expectWrites(t, "Create a", "Create b")
	if a, b := w.data(t, "a"), w.data(t, "b"); a != "value=1 site=north" || b != "value=1 site=south" {
		t.Errorf("a has %q, b has %q", a, b)
	}
	w.agents(t, "a b", healthy, w.now)
	w.pass(t)
	w.expectWrites(t)
	w.expectCondition(t, "PlacementRolledOut", "True", "Complete", "2 of 2 clusters succeeded")
	if got := w.set.Status; got.UpdateRevision != w.hash(t) || got.CurrentRevision != w.hash(t) {
		t.Errorf("the revision is the hash of the template: %+v", got)
	}
}

func TestALabelThatAnOverrideReadsRollsOutAtThePaceOfTheStrategy(t *testing.T) {
	w := newState(t, "p="+progressive)
	w.overrides(t, siteOverride)
	w.selects("p", "a b c")
	for _, name := range []string{"a", "b", "c"} {
		w.label(name, "x")
	}
	w.rollOut(t, "a b c")
	w.expectCondition(t, "PlacementRolledOut", "True", "Complete", "3 of 3")
	w.written = nil
	w.label("a", "y")
	w.label("b", "y")
	w.label("c", "x") // another version of the cluster, with the same label
	w.pass(t)
	w.expectWrites(t, "Update a")
	w.agents(t, "a", healthy, w.now)
	w.pass(t)
	if w.data(t, "b") != "value=1 site=y" {
		t.Errorf("b has %q after a succeeded", w.data(t, "b"))
	}
}

func TestAClusterThatCannotBeRenderedKeepsWhatItHas(t *testing.T) {
	w := newState(t, "p="+"{type: Progressive, progressive: {maxConcurrency: 1}}")
	w.overrides(t, siteOverride)
	w.selects("p", "a|b")
	w.label("a", "north")
	w.label("b", "south")
	for range 3 {
		w.pass(t)
		w.agents(t, "a b", healthy, w.now)
	}
	w.label("a", "")
	w.template("2")
	w.written = nil
	out := w.pass(t)
	w.expectWrites(t, "Update b") // a blocks no group behind it
	if a := w.data(t, "a"); a != "value=1 site=north" {
		t.Errorf("a has %q", a)
	}
	const reason = `overrides[0].patches[0] (add /data/site) of ConfigMap shop/web: the cluster has no label "site"`
	if got := out.Verdicts[0]; got.State != rollout.StateSkip || got.Code != rollout.Skipped ||
		got.Message != "it keeps what it has: "+reason {
		t.Errorf("%+v", got)
	}
	w.agents(t, "b", healthy, w.now)
	w.pass(t)
	w.agents(t, "b", healthy, w.now)
	w.pass(t)
	w.expectCondition(t, "PlacementRolledOut", "False", "Progressing",
		"1 of 2 clusters succeeded; 1 of 2 clusters left out: a (it keeps what it has: "+reason)
	w.expectCondition(t, "ManifestworkApplied", "False", "NotAsExpected", "1 of 2 clusters left out: a")
	w.expectCondition(t, "Progressing", "False", "Finished", "")
	w.selects("p", "|b")
	w.written = nil
	w.pass(t)
	w.expectWrites(t, "Delete a") // a decision still removes the work
}

func TestAClusterThatDoesNotExistIsLeftOut(t *testing.T) {
	w := newState(t, "p")
	w.overrides(t, siteOverride)
	w.selects("p", "a")
	out := w.pass(t)
	w.expectWrites(t)
	if !strings.Contains(out.Verdicts[0].Message, "there is no ManagedCluster of this name") {
		t.Errorf("%+v", out.Verdicts[0])
	}
}

// TestAClusterWithoutAnAgentGetsNothing has an imported cluster: the namespace of its name may be that of another user.
func TestAClusterWithoutAnAgentGetsNothing(t *testing.T) {
	w := newState(t, "p="+progressive)
	w.selects("p", "a b")
	w.undeliverable = map[string]string{"a": "it has no agent"}
	out := w.pass(t)
	w.expectWrites(t, "Create b")
	if got := out.Verdicts[0]; got.State != rollout.StateSkip || got.Code != rollout.Skipped ||
		!strings.Contains(got.Message, "it has no agent") {
		t.Errorf("%+v", got)
	}
	w.agents(t, "b", healthy, w.now)
	w.pass(t)
	w.expectCondition(t, "PlacementRolledOut", "False", "Progressing", "1 of 2 clusters succeeded; 1 of 2 clusters left out: a (")
	w.template("2")
	w.pass(t)
	w.expectWrites(t, "Update b")
}

// TestAReaderWithoutClustersSeesTheRollout plans without renderings, as a user does who may not read clusters.
func TestAReaderWithoutClustersSeesTheRollout(t *testing.T) {
	w := newState(t, "p")
	w.overrides(t, siteOverride)
	w.selects("p", "a b")
	w.label("a", "north")
	w.label("b", "south")
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	want := map[string]rollout.State{"a": rollout.StateSucceeded, "b": rollout.StateProgressing}
	for range 2 {
		in := w.input(t)
		in.Rendered, in.Former = nil, nil
		for _, verdict := range plan.Plan(in).Verdicts {
			if verdict.State != want[verdict.Cluster] {
				t.Errorf("%+v, want %s", verdict, want[verdict.Cluster])
			}
		}
		w.template("2")
		want = map[string]rollout.State{"a": rollout.StateToApply, "b": rollout.StateToApply}
	}
}

func TestInvalidOverridesStartNoCluster(t *testing.T) {
	w := newState(t, "p")
	w.selects("p", "a")
	w.pass(t)
	w.kept[w.hash(t)] = true
	w.overrides(t, strings.ReplaceAll(siteOverride, "/data/site", "/kind"))
	w.selects("p", "a b")
	w.written = nil
	w.pass(t)
	w.expectWrites(t)
	w.expectCondition(t, "Progressing", "False", "Misconfigured",
		"The overrides are invalid: nothing is delivered, and what runs stays: spec.overrides[0].patches[0].path")
}

func TestTheFormerTemplateIsRenderedToo(t *testing.T) {
	w := newState(t, "p")
	w.overrides(t, siteOverride)
	w.selects("p", "a")
	w.label("a", "north")
	w.label("b", "south")
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.pass(t)
	w.kept[w.hash(t)] = true
	w.template("2")
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true
	w.selects("p", "a b")
	w.pass(t)
	if b := w.data(t, "b"); b != "value=1 site=south" {
		t.Errorf("b has %q", b)
	}
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = false
	w.pass(t)
	if b := w.data(t, "b"); b != "value=2 site=south" {
		t.Errorf("b has %q", b)
	}
}

// TestOverriddenHubsSettle follows random histories of labels, templates and faults. In the end a cluster has the last template with
// its own label, or what it had before where the label is missing.
func TestOverriddenHubsSettle(t *testing.T) {
	for seed := range uint64(histories / 2) {
		h := newHistory(t, seed)
		h.overrides(t, siteOverride)
		for tick := range ticks {
			h.at = fmt.Sprintf("seed %d, tick %d", seed, tick)
			h.label(fleetNames[h.IntN(len(fleetNames))], []string{"", "north", "south"}[h.IntN(3)])
			out := plan.Plan(h.input(t))
			for _, write := range out.Writes {
				if write.Verb == plan.Create || write.Verb == plan.Update {
					h.checkRendered(t, write)
				}
			}
			h.faulty(t, out.Writes)
			h.set.Status = out.Status
			h.tick(t)
		}
		h.at = fmt.Sprintf("seed %d, settling", seed)
		h.calm()
		h.label("a", "north")
		h.label("b", "")
		h.label("c", "south")
		h.label("d", "north")
		h.observe()
		before := h.data(t, "b")
		h.settle(t)
		value, _, _ := strings.Cut(h.data(t, "a"), " ")
		for cluster, want := range map[string]string{"a": value + " site=north", "c": value + " site=south", "d": value + " site=north"} {
			if got := h.data(t, cluster); got != want {
				t.Errorf("%s: %s has %q, want %q", h.at, cluster, got, want)
			}
		}
		if b := h.data(t, "b"); b != before && b != "" || len(h.written) > 0 {
			t.Errorf("%s: b has %q, had %q; writes %q", h.at, b, before, h.written)
		}
		if t.Failed() {
			return
		}
	}
}

// checkRendered fails unless the cluster of a write has the label that the override reads.
func (h *history) checkRendered(t *testing.T, write plan.Write) {
	t.Helper()
	if cluster := h.fleet[write.Cluster]; cluster == nil || cluster.Labels["site"] == "" {
		t.Errorf("%s: %s of %s, whose label is missing", h.at, write.Verb, write.Cluster)
	}
}

// TestAClusterThatJoinsGetsNoUnprovenOverrides lets a cluster join while its group waits for the proof of other overrides.
func TestAClusterThatJoinsGetsNoUnprovenOverrides(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {mandatoryDecisionGroups: [{groupIndex: 0}]}}")
	w.overrides(t, siteOverride)
	w.selects("p", "a|b")
	for _, name := range []string{"a", "b", "c"} {
		w.label(name, "north")
	}
	w.rollOut(t, "a b")
	w.expectCondition(t, "PlacementRolledOut", "True", "Complete", "2 of 2")
	w.kept[w.hash(t)] = true
	w.overrides(t, strings.ReplaceAll(siteOverride, "/data/site", "/data/place"))
	w.template("2") // the overrides change beside it
	w.pass(t)
	w.selects("p", "a|b c")
	w.written = nil
	w.pass(t)
	w.expectWrites(t)
	w.expectCondition(t, "Served", "False", "RunsNothing",
		"nothing runs yet on 1 cluster of the selection, since the overrides have changed, and the former ones are not kept: c")
	for range 3 {
		w.agents(t, "a b c", healthy, w.now)
		w.pass(t)
	}
	w.expectCondition(t, "PlacementRolledOut", "True", "Complete", "3 of 3")
	w.kept[w.hash(t)] = true
	w.selects("p", "a|b c d") // and a template alone does not hold who joins
	w.label("d", "north")
	w.template("3")
	w.written = nil
	w.pass(t)
	w.expectWrites(t, "Update a", "Create d")
}
