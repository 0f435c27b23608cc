package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/rollout"
)

const (
	oneByOne = "{type: Progressive, progressive: {maxConcurrency: 1}}"
	canaries = "{type: Progressive, progressive: {maxConcurrency: 3, mandatoryDecisionGroups: [{groupName: canary}]}}"
	failing  = "Applied Degraded Progressing"
	moving   = "Applied Progressing Available Degraded=False"
)

// finishedState returns a hub on which template 1 has finished its rollout over a decision, and template 2 is about to start.
func finishedState(t *testing.T, decision string, placements ...string) *state {
	t.Helper()
	w := newState(t, placements...)
	w.selects("p", decision)
	w.finish(t)
	w.kept[w.hash(t)] = true
	w.template("2")
	w.written = nil
	return w
}

// finish rolls the present template out to every cluster.
func (s *state) finish(t *testing.T) {
	t.Helper()
	for range 12 {
		s.pass(t)
		s.agents(t, "a b c d e f", healthy, s.now)
		s.runTo(t, s.now.Add(20*time.Minute))
	}
	if s.set.Status.CurrentRevision != s.hash(t) {
		t.Fatalf("the rollout has not finished: %+v", s.set.Status.Rollout)
	}
}

// silence takes a cluster out of the decision because its agent fell silent.
func (s *state) silence(decision, cluster string) {
	s.members = map[string]evidence.Member{cluster: {Unavailable: true}}
	s.selects("p", decision)
}

func (s *state) expectTemplate(t *testing.T, want string) {
	t.Helper()
	if got := s.clusters(t); got != want {
		t.Errorf("%q have the template, want %q", got, want)
	}
}

// entry returns what is on record of a cluster; the zero value for nothing.
func (s *state) entry(cluster string) clusterv1alpha1.ClusterRolloutRecord {
	for _, entry := range s.set.Status.Rollout.Clusters {
		if entry.Name == cluster {
			return entry
		}
	}
	return clusterv1alpha1.ClusterRolloutRecord{}
}

// TestNothingStartsWhileAClusterMayBeLost: a cluster in flight that an incomplete decision lacks has its place until it is known whether it
// is selected.
func TestNothingStartsWhileAClusterMayBeLost(t *testing.T) {
	w := finishedState(t, "a b c", "p="+oneByOne)
	w.pass(t)
	w.expectTemplate(t, "a")
	w.selects("p", "b c")
	w.placements["p"].Object.Status.NumberOfSelectedClusters = 3
	w.runTo(t, w.now.Add(time.Hour))
	w.expectTemplate(t, "a")
	w.selects("p", "b c")
	w.runTo(t, w.now.Add(time.Hour))
	w.expectTemplate(t, "")
	w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster")
}

// TestAVersionThatKillsClustersStops: a cluster that falls silent with a template is a failure.
func TestAVersionThatKillsClustersStops(t *testing.T) {
	w := finishedState(t, "a b c d", "p="+oneByOne)
	w.pass(t)
	w.expectTemplate(t, "a")
	w.silence("b c d e", "a")
	for range 5 {
		w.runTo(t, w.now.Add(time.Hour))
	}
	w.expectTemplate(t, "")
	w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster was lost; maxFailures allows 0 of the 4 at the start")
	if entry := w.entry("a"); entry.Phase != clusterv1alpha1.ClusterLost || entry.Reason != "fell silent before it succeeded" {
		t.Errorf("%+v", entry)
	}
	if got := w.data(t, "e"); got != "value=1 site=" {
		t.Errorf("e, which took its place, has %q", got)
	}
	w.members = nil
	w.selects("p", "a b c d")
	w.agents(t, "a", healthy, w.now) // the old work is gone
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.runTo(t, w.now.Add(time.Minute))
	w.expectTemplate(t, "a b") // it was tried again, and its success ended the breach
}

// TestAMandatoryGroupProvesTheTemplate: what takes the canaries away does not open the gate.
func TestAMandatoryGroupProvesTheTemplate(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*testing.T, *state)
		phase  string
	}{
		"its cluster leaves":        {func(_ *testing.T, w *state) { w.selects("p", "c d e") }, "Breached"},
		"its cluster falls silent":  {func(_ *testing.T, w *state) { w.silence("c d e", "a") }, "Breached"},
		"its cluster is relabelled": {func(_ *testing.T, w *state) { w.selects("p", "canary:|a c d e") }, "Waiting"},
		"the group is renamed":      {func(_ *testing.T, w *state) { w.selects("p", "early:a|c d e") }, "Waiting"},
		"the failed cluster is relabelled": {func(t *testing.T, w *state) {
			w.agents(t, "a", failing, w.now)
			w.pass(t)
			w.selects("p", "canary:|a c d e")
		}, "Breached"},
		"the failed cluster is drained": {func(t *testing.T, w *state) {
			w.agents(t, "a", failing, w.now)
			w.pass(t)
			w.selects("p", "canary:|c d e")
		}, "Breached"},
		"a healthy cluster is deleted": {func(_ *testing.T, w *state) {
			w.members = map[string]evidence.Member{"a": {Gone: true}}
			w.selects("p", "c d e")
		}, "MandatoryGroupUnproven"},
		"the placement is made anew without the group": {func(_ *testing.T, w *state) { w.selects("p", "a c d e") }, "Waiting"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := finishedState(t, "canary:a|c d e", "p="+canaries)
			w.pass(t)
			w.expectTemplate(t, "a")
			tc.change(t, w)
			for range 5 {
				w.runTo(t, w.now.Add(time.Hour))
			}
			for _, name := range []string{"c", "d", "e"} {
				if got := w.data(t, name); got != "value=1 site=" {
					t.Errorf("%s has %q", name, got)
				}
			}
			w.expectCondition(t, "Progressing", map[bool]string{true: "True", false: "False"}[tc.phase == "Waiting"], tc.phase, "")
		})
	}
}

// TestAClusterThatJoinsAMandatoryGroupProvesNothing: the canary is deleted in good health, and another cluster becomes the canary.
func TestAClusterThatJoinsAMandatoryGroupProvesNothing(t *testing.T) {
	w := finishedState(t, "canary:a|c d e", "p="+canaries)
	w.pass(t)
	w.expectTemplate(t, "a")
	w.members = map[string]evidence.Member{"a": {Gone: true}}
	w.selects("p", "canary:c|d e")
	w.pass(t)
	w.agents(t, "c", healthy, w.now)
	for range 5 {
		w.runTo(t, w.now.Add(time.Hour))
	}
	w.expectTemplate(t, "c")
	w.expectCondition(t, "Progressing", "False", "MandatoryGroupUnproven", "the mandatory group with groupName canary")
	w.passed = []string{"canary"}
	w.pass(t)
	if got := w.data(t, "d"); got == "value=1 site=" {
		t.Error("nothing starts after the approval")
	}
}

// TestAClusterOfAMandatoryGroupProvesItForGood: one canary succeeded and left before the other, which is deleted in good health, was done.
func TestAClusterOfAMandatoryGroupProvesItForGood(t *testing.T) {
	w := finishedState(t, "canary:a b|c d e", "p="+canaries)
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.runTo(t, w.now.Add(time.Hour))
	w.pass(t)
	w.selects("p", "canary:b|c d e")
	w.pass(t)
	w.members = map[string]evidence.Member{"b": {Gone: true}}
	w.selects("p", "c d e")
	for range 3 {
		w.runTo(t, w.now.Add(time.Hour))
	}
	if got := w.data(t, "c") + w.data(t, "d") + w.data(t, "e"); !strings.Contains(got, "value=2") {
		t.Errorf("no later group starts: %s", got)
	}
}

// TestWhatAnEditDoesNotExcuse: a cluster in flight that is tainted, silent or failed when its placement goes is lost, whatever drops it.
func TestWhatAnEditDoesNotExcuse(t *testing.T) {
	deleted := func(w *state) { delete(w.placements, "p") }
	anew := func(w *state) {
		w.selects("p", "b c")
		w.placements["p"].Object.UID = "another"
	}
	takenOut := func(w *state) {
		w.set.Spec.PlacementRefs = w.set.Spec.PlacementRefs[1:]
		w.set.Generation++
	}
	is := func(of evidence.Member) func(*testing.T, *state) {
		return func(_ *testing.T, w *state) { w.members = map[string]evidence.Member{"a": of} }
	}
	fails := func(t *testing.T, w *state) { w.agents(t, "a", failing, w.now) }
	tainted := is(evidence.Member{Tainted: start.Add(time.Hour)})
	const dropped, lost = "Left: was dropped by an edit before it succeeded", "Lost: was tainted before it succeeded"
	for sentence, tc := range map[string]struct {
		// before comes before the changes, while between them.
		before, while func(*testing.T, *state)
		changes       []func(*state)
		want          string
	}{
		"healthy, made anew":  {nil, nil, []func(*state){deleted, anew}, dropped},
		"healthy, taken out":  {nil, nil, []func(*state){takenOut}, dropped},
		"tainted, made anew":  {tainted, nil, []func(*state){deleted, anew}, lost},
		"tainted, taken out":  {tainted, nil, []func(*state){deleted, takenOut}, lost},
		"tainted all along":   {is(evidence.Member{Tainted: start.Add(-time.Second)}), nil, []func(*state){takenOut}, dropped},
		"it fails while held": {nil, fails, []func(*state){deleted, anew}, "Lost: failed, and was dropped by an edit"},
		"it fails as it goes": {fails, nil, []func(*state){takenOut}, "Lost: failed, and was dropped by an edit"},
		"silent, taken out": {
			is(evidence.Member{Unavailable: true}), nil,
			[]func(*state){takenOut},
			"Lost: was not Available, and was dropped by an edit",
		},
		"silent and tainted": {
			is(evidence.Member{Unavailable: true, Tainted: start.Add(time.Hour)}), nil,
			[]func(*state){deleted, anew},
			"Lost: fell silent before it succeeded",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p="+oneByOne, "q="+oneByOne)
			w.selects("p", "a b c")
			w.selects("q", "d")
			w.placements["p"].Object.UID = "first"
			w.pass(t)
			w.agents(t, "a", moving, w.now)
			w.pass(t)
			w.expectTemplate(t, "a d")
			if tc.before != nil {
				tc.before(t, w)
			}
			for _, change := range tc.changes {
				change(w)
				w.pass(t)
				if tc.while != nil {
					tc.while(t, w)
				}
			}
			if entry := w.entry("a"); string(entry.Phase)+": "+entry.Reason != tc.want {
				t.Errorf("%s: %s, want %s", entry.Phase, entry.Reason, tc.want)
			}
		})
	}
}

// TestOneVerdictWhereAPlacementIsTakenOut: the verdict of a cluster that leaves in the middle of a rollout is what is on record of it.
func TestOneVerdictWhereAPlacementIsTakenOut(t *testing.T) {
	w := newState(t, "p="+oneByOne, "q={type: All}")
	w.selects("p", "a b")
	w.selects("q", "c d e f")
	w.finish(t)
	w.kept[w.hash(t)] = true
	w.template("2")
	w.pass(t)
	w.agents(t, "c", healthy, w.now)
	w.agents(t, "d e", moving, w.now)
	w.agents(t, "f", failing, w.now)
	w.pass(t)
	w.set.Spec.PlacementRefs = w.set.Spec.PlacementRefs[:1]
	w.set.Generation++
	want := map[string]string{
		"c": "is no longer selected",
		"d": "does not count: was dropped by an edit before it succeeded",
		"e": "does not count: was dropped by an edit before it succeeded",
		"f": "counts as lost: failed, and was dropped by an edit",
	}
	for _, moment := range []string{"before their works are deleted", "while their works are deleted"} {
		got := map[string]string{}
		for _, verdict := range w.onePass(t).Verdicts {
			if verdict.Placement == "" && verdict.Code == rollout.Left {
				got[verdict.Cluster] = verdict.Message
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", moment, diff)
		}
	}
	w.agents(t, "c d e f", "", w.now) // they are gone
	w.selects("p", "a b f")
	for _, verdict := range w.pass(t).Verdicts {
		const waits = "counts as lost: failed, and was dropped by an edit; another placement of this rollout is breached"
		if verdict.Cluster == "f" && verdict.Message != waits {
			t.Errorf("f is back: %s, want %s", verdict.Message, waits)
		}
	}
}

// TestAMandatoryGroupThatNobodyIsIn: a person passes it.
func TestAMandatoryGroupThatNobodyIsIn(t *testing.T) {
	for sentence, decision := range map[string]string{"missing": "b c", "misspelt": "canray:a|b c", "empty": "canary:|b c"} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p="+canaries)
			w.selects("p", decision)
			w.pass(t)
			w.expectTemplate(t, "")
			w.expectCondition(t, "Progressing", "False", "MandatoryGroupUnproven", "may not start before a person passes it")
			w.expectCondition(t, "Served", "False", "RunsNothing", "nothing runs yet on ")
			w.passed = []string{"canary"}
			w.pass(t)
			if got := w.clusters(t); got == "" {
				t.Error("nothing starts after the approval")
			}
		})
	}
}

// TestAMandatoryGroupRuledElsewhere: a cluster counts in the groups of every placement that selects it.
func TestAMandatoryGroupRuledElsewhere(t *testing.T) {
	w := newState(t, "p="+oneByOne, "q="+canaries)
	w.selects("p", "a")
	w.selects("q", "canary:a|b c")
	w.pass(t)
	w.expectTemplate(t, "a")
	w.expectHolds(t, "")
	w.agents(t, "a", moving, w.now)
	waiting := w.pass(t).Verdicts[1]
	w.expectTemplate(t, "a")
	w.expectHolds(t, "") // it can be proven yet
	if waiting.Cluster != "b" || !strings.Contains(waiting.Message, "group 0 (canary) is not done") {
		t.Errorf("%s waits: %s", waiting.Cluster, waiting.Message)
	}
	w.agents(t, "a", failing, w.now)
	w.pass(t)
	w.expectTemplate(t, "a")
	w.agents(t, "a", healthy, w.now)
	w.pass(t)
	w.expectTemplate(t, "a b c")
}

// TestAnIndexMeansWhatItMeant: a group that comes before it later is not the mandatory one.
func TestAnIndexMeansWhatItMeant(t *testing.T) {
	w := finishedState(t, "canary:a|c d", "p={type: Progressive, progressive: {maxConcurrency: 3, maxFailures: 1, "+
		"mandatoryDecisionGroups: [{groupIndex: 0}]}}")
	w.pass(t)
	w.agents(t, "a", failing, w.now)
	w.pass(t)
	w.selects("p", "first:e|canary:a|c d")
	w.pass(t)
	w.expectTemplate(t, "a")
	w.expectCondition(t, "Progressing", "False", "Breached", "")
}

// TestAFailureCountsUntilTheClusterSucceeds: a retry lets no other cluster start.
func TestAFailureCountsUntilTheClusterSucceeds(t *testing.T) {
	key := types.NamespacedName{Namespace: "a", Name: plan.WorkName("shop", "web")}
	for sentence, change := range map[string]func(*testing.T, *state){
		"its work is deleted": func(t *testing.T, w *state) {
			w.deleteWork(key)
			w.agents(t, "a", "", w.now)
		},
		"its work is edited": func(_ *testing.T, w *state) {
			work := w.stored[key].DeepCopy()
			work.Spec.Workload.Manifests, work.Generation = nil, work.Generation+1
			w.store(work, false)
		},
		"it is under way again": func(t *testing.T, w *state) { w.agents(t, "a", moving, w.now) },
		"no agent fetches its works for a while": func(t *testing.T, w *state) {
			w.undeliverable = map[string]string{"a": "no agent"}
			w.pass(t)
			w.expectTemplate(t, "a")
			w.undeliverable = nil
		},
		"the strategy becomes All": func(t *testing.T, w *state) {
			w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, "{type: All}")
		},
		"another placement takes its clusters": func(_ *testing.T, w *state) {
			w.set.Spec.PlacementRefs = append(w.set.Spec.PlacementRefs, workv1alpha1.LocalPlacementReference{Name: "q"})
			w.placements["p"].Object.Generation++
			w.selects("q", "a b c d")
			w.selects("p", "a")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := finishedState(t, "a b c d", "p="+oneByOne)
			w.pass(t)
			w.agents(t, "a", failing, w.now)
			w.pass(t)
			w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster of 4 failed")
			change(t, w)
			w.observe()
			for range 3 {
				w.pass(t)
				w.observe()
			}
			w.expectTemplate(t, "a")
			w.agents(t, "a", healthy, w.now)
			w.pass(t)
			if got := w.clusters(t); got == "a" {
				t.Error("nothing goes on after the success")
			}
		})
	}
}

// TestAClusterUnderWayKeepsItsPlace has a cluster that starts the change, and then gets nothing more before it has reported.
func TestAClusterUnderWayKeepsItsPlace(t *testing.T) {
	for sentence, report := range map[string]string{"it fails": failing, "it succeeds": healthy} {
		t.Run(sentence, func(t *testing.T) {
			w := finishedState(t, "a b c d", "p="+oneByOne)
			w.pass(t)
			w.expectTemplate(t, "a")
			w.undeliverable = map[string]string{"a": "no agent"}
			for range 3 {
				w.pass(t)
				w.observe()
			}
			w.expectTemplate(t, "a")
			if got := w.pass(t).Verdicts[0].Message; !strings.Contains(got, "keeps what it has: no agent") {
				t.Errorf("the verdict is %q", got)
			}
			w.agents(t, "a", report, w.now)
			w.pass(t)
			if report == healthy {
				w.expectTemplate(t, "a b")
				return
			}
			w.expectTemplate(t, "a")
			w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster of 4 failed")
		})
	}
}

// TestWhatSoaks tests when a cluster has soaked.
func TestWhatSoaks(t *testing.T) {
	const soak = "{type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 10m}}"
	for sentence, tc := range map[string]struct {
		during func(*testing.T, *state)
		// after is how much longer than minSuccessTime it takes.
		after time.Duration
	}{
		"nothing happens": {func(*testing.T, *state) {}, 0},
		"it degrades for a moment": {func(t *testing.T, w *state) {
			w.agents(t, "a", failing, w.now)
			w.runTo(t, w.now.Add(time.Minute))
			w.agents(t, "a", healthy, w.now)
		}, 6 * time.Minute},
		"it is under way for a moment": {func(t *testing.T, w *state) {
			w.agents(t, "a", moving, w.now)
			w.runTo(t, w.now.Add(time.Minute))
			w.agents(t, "a", healthy, w.now)
		}, 6 * time.Minute},
		"the agent is silent for a moment": {func(t *testing.T, w *state) {
			w.members = map[string]evidence.Member{"a": {Unavailable: true}}
			w.runTo(t, w.now.Add(time.Minute))
			w.members = nil
		}, 6 * time.Minute},
		"no manager runs for a minute and a half": {func(_ *testing.T, w *state) { w.now = w.now.Add(90 * time.Second) }, 90 * time.Second},
		"no manager runs for an hour":             {func(_ *testing.T, w *state) { w.now = w.now.Add(time.Hour) }, time.Hour},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := finishedState(t, "a b", "p="+soak)
			w.pass(t)
			began := w.now
			w.agents(t, "a", healthy, w.now.Add(-4*time.Minute)) // by a clock that is behind
			w.runTo(t, began.Add(5*time.Minute))
			tc.during(t, w)
			end := began.Add(10*time.Minute + tc.after)
			w.runTo(t, end.Add(-time.Second))
			w.expectTemplate(t, "a")
			w.runTo(t, end.Add(time.Minute+time.Second))
			w.expectTemplate(t, "a b")
		})
	}
}

// TestASoakEndsWithASignOfLife: the agent may have died with its last success.
func TestASoakEndsWithASignOfLife(t *testing.T) {
	w := finishedState(t, "a b", "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 10m}}")
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.members = map[string]evidence.Member{"a": {Renewed: w.now.Add(9 * time.Minute)}}
	w.runTo(t, w.now.Add(20*time.Minute))
	w.expectTemplate(t, "a")
	w.members = map[string]evidence.Member{"a": {Renewed: w.now}}
	w.pass(t)
	w.expectTemplate(t, "a b")
}

// TestADeadlineRunsOnce: a cluster that succeeded is never late again.
func TestADeadlineRunsOnce(t *testing.T) {
	w := finishedState(t, "a b", "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 15m, progressDeadline: 5m}}")
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.runTo(t, w.now.Add(9*time.Minute))
	w.agents(t, "a", moving, w.now)
	out := w.runTo(t, w.now.Add(9*time.Minute))
	if out.Verdicts[0].Code != rollout.UnderWay {
		t.Errorf("a is %s", out.Verdicts[0].Code)
	}
	w.agents(t, "a", healthy, w.now)
	w.runTo(t, w.now.Add(17*time.Minute))
	w.expectTemplate(t, "a b")
	w.runTo(t, w.now.Add(6*time.Minute)) // b does not report
	w.expectCondition(t, "Progressing", "False", "Failed", "1 cluster of 2 failed")
}

// TestCurrentRevisionMovesWithTheEndOfTheRollout: neither with the first reports nor because the selection shrank.
func TestCurrentRevisionMovesWithTheEndOfTheRollout(t *testing.T) {
	w := finishedState(t, "canary:a|b c", "p={type: Progressive, progressive: {minSuccessTime: 1h, "+
		"mandatoryDecisionGroups: [{groupName: canary}]}}")
	former := w.set.Status.CurrentRevision
	w.pass(t)
	w.agents(t, "a", healthy, w.now)
	w.selects("p", "canary:a|")
	w.runTo(t, w.now.Add(2*time.Hour))
	if w.set.Status.CurrentRevision != former {
		t.Error("the template counts as finished because the other clusters went away")
	}
	w.selects("p", "canary:a|b c")
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true
	w.agents(t, "b c", "", w.now) // their works were deleted
	w.pass(t)
	for _, name := range []string{"b", "c"} {
		if got := w.data(t, name); got != "value=1 site=" {
			t.Errorf("%s has %q", name, got)
		}
	}
	w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = false
	w.finish(t)
}

// TestAClusterThatWaitsRunsTheFormerTemplate: whatever it waits for, and however it came.
func TestAClusterThatWaitsRunsTheFormerTemplate(t *testing.T) {
	w := finishedState(t, "canary:a|b c", "p="+canaries)
	w.pass(t)
	w.selects("p", "canary:a|c")
	w.pass(t)
	w.agents(t, "b", "", w.now) // the work of b is gone
	w.selects("p", "canary:a|b c d")
	w.pass(t)
	for _, name := range []string{"b", "d"} {
		if got := w.data(t, name); got != "value=1 site=" {
			t.Errorf("%s has %q", name, got)
		}
	}
	w.expectTemplate(t, "a")
}

// TestAFinishedTemplateIsNeverHeldBack: a cluster that joins gets it at once.
func TestAFinishedTemplateIsNeverHeldBack(t *testing.T) {
	for sentence, change := range map[string]func(*testing.T, *state){
		"an object of another cluster fails": func(t *testing.T, w *state) { w.agents(t, "a b", failing, w.now) },
		"pods of another cluster restart":    func(t *testing.T, w *state) { w.agents(t, "a b", moving, w.now) },
		"the set is paused":                  func(_ *testing.T, w *state) { w.set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true },
		"approvals are withdrawn": func(_ *testing.T, w *state) {
			w.set.Spec.PlacementRefs[0].RolloutStrategy.Approval = &clusterv1alpha1.RolloutApproval{}
		},
		"the mandatory group goes": func(*testing.T, *state) {},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 2m, progressDeadline: 5m, "+
				"mandatoryDecisionGroups: [{groupName: canary}]}}")
			w.selects("p", "canary:a|b c")
			w.finish(t)
			change(t, w)
			w.runTo(t, w.now.Add(time.Hour))
			w.selects("p", "a b d e")
			w.pass(t)
			w.expectTemplate(t, "a b d e")
			for _, condition := range w.set.Status.Conditions {
				if condition.Type == "Progressing" && condition.Reason == "Breached" {
					t.Errorf("%+v", condition)
				}
			}
		})
	}
}

// TestTypeAllFails: a rollout in which clusters failed has not finished.
func TestTypeAllFails(t *testing.T) {
	w := newState(t, "p={type: All, all: {progressDeadline: 8s}}")
	w.selects("p", "a b c")
	w.pass(t)
	w.agents(t, "a b c", failing, w.now)
	w.pass(t)
	w.expectCondition(t, "Progressing", "False", "Failed", "3 clusters of 3 failed")
	if w.set.Status.CurrentRevision != "" {
		t.Error("the template counts as finished")
	}
}

// TestAPersonForgives: a failure that is forgiven does not count.
func TestAPersonForgives(t *testing.T) {
	w := finishedState(t, "a b c", "p="+oneByOne)
	w.pass(t)
	w.agents(t, "a", failing, w.now)
	w.pass(t)
	w.forgiven = true
	w.pass(t)
	w.expectTemplate(t, "a b")
}

// TestForgivenClustersEndARollout: where every cluster is forgiven the rollout ends, and the former template stays the last that finished.
func TestForgivenClustersEndARollout(t *testing.T) {
	for sentence, tc := range map[string]struct{ strategy, reports, message string }{
		"all failed":        {"{type: All}", failing, "Ended: 3 forgiven, none succeeded"},
		"all are late":      {"{type: All, all: {progressDeadline: 8s}}", moving, "Ended: 3 forgiven, none succeeded"},
		"one after another": {oneByOne, failing, "Ended: 3 forgiven, none succeeded"},
		"mandatory": {
			"{type: Progressive, progressive: {maxConcurrency: 3, mandatoryDecisionGroups: [{groupIndex: 0}]}}", failing,
			"Ended: 3 forgiven, none succeeded",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := finishedState(t, "a b c", "p="+tc.strategy)
			former := w.set.Status.CurrentRevision
			w.forgiven = true
			for range 4 {
				w.pass(t)
				w.agents(t, "a b c", tc.reports, w.now)
				w.runTo(t, w.now.Add(time.Minute))
			}
			w.expectTemplate(t, "a b c")
			w.expectCondition(t, "Progressing", "False", "Finished", tc.message)
			if w.set.Status.CurrentRevision != former || w.set.Status.Rollout.FinishedTime != nil {
				t.Errorf("current revision %s, record finished %v: nothing has succeeded", w.set.Status.CurrentRevision,
					w.set.Status.Rollout.FinishedTime)
			}
			w.selects("p", "a b c d")
			w.agents(t, "a b c", healthy, w.now)
			for range 4 {
				w.pass(t)
				w.agents(t, "a b c d", healthy, w.now)
				w.runTo(t, w.now.Add(time.Minute))
			}
			if w.set.Status.CurrentRevision == former {
				t.Error("the rollout does not finish once all have succeeded")
			}
		})
	}
}

// TestAForgivenClusterThatIsTriedAgainHasAPlace: it is under way, and no other starts beside it.
func TestAForgivenClusterThatIsTriedAgainHasAPlace(t *testing.T) {
	w := finishedState(t, "a b c", "p="+oneByOne)
	w.pass(t)
	w.silence("b c", "a")
	w.runTo(t, w.now.Add(time.Hour))
	w.members = nil
	w.selects("p", "a b c")
	w.agents(t, "a", healthy, w.now) // the old work is gone
	w.pass(t)
	w.expectTemplate(t, "a")
	w.forgiven = true
	w.runTo(t, w.now.Add(time.Hour))
	w.expectTemplate(t, "a")
	w.agents(t, "a", healthy, w.now)
	w.pass(t)
	w.expectTemplate(t, "a b")
}

// TestOnePhaseForTheEnd: the phase of a rollout is Finished only where the record has its end, or where it ended without a success.
func TestOnePhaseForTheEnd(t *testing.T) {
	w := finishedState(t, "a b c", "p={type: All}")
	w.pass(t)
	w.agents(t, "a b", healthy, w.now)
	w.selects("p", "a b")
	w.members = map[string]evidence.Member{"c": {Gone: true}}
	w.forgiven = true
	w.runTo(t, w.now.Add(time.Minute))
	w.expectCondition(t, "Progressing", "False", "Finished", "Rolled out to 2 clusters")

	w = newState(t, "p={type: Progressive, progressive: {maxConcurrency: 2}}")
	w.selects("p", "a b c")
	w.pass(t)
	w.selects("p", "a b")
	w.agents(t, "a b", healthy, w.now)
	w.runTo(t, w.now.Add(time.Minute))
	w.expectCondition(t, "Progressing", "False", "ClustersMissing",
		"1 cluster that the rollout began with, or that an edit added, not selected now")
}

// TestHoldsAreOnRecord: a breach and an unproven group hold a set both, and each keeps the time when it began.
func TestHoldsAreOnRecord(t *testing.T) {
	w := finishedState(t, "a b c d", "p="+oneByOne)
	w.pass(t)
	w.expectHolds(t, "")
	w.agents(t, "a", failing, w.now)
	w.pass(t)
	breached := w.now.Format(time.TimeOnly)
	w.expectHolds(t, "Breach "+breached)
	w.runTo(t, w.now.Add(time.Hour))
	w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, canaries)
	w.pass(t)
	unproven := w.now.Format(time.TimeOnly)
	w.expectHolds(t, "Breach "+breached+", UnprovenGroup canary "+unproven)
	w.runTo(t, w.now.Add(time.Hour))
	w.selects("p", "-")
	w.runTo(t, w.now.Add(time.Hour))
	w.expectCondition(t, "Progressing", "False", "Undecided", "")
	w.paused = true
	w.selects("p", "a b c d")
	w.runTo(t, w.now.Add(time.Hour))
	w.expectHolds(t, "Breach "+breached+", UnprovenGroup canary "+unproven)
	w.paused, w.passed = false, []string{"canary"}
	w.pass(t)
	w.expectHolds(t, "Breach "+breached)
	w.forgiven = true
	w.pass(t)
	w.expectHolds(t, "")
}

// expectHolds compares what holds the set, such as "Breach 10:00:00, UnprovenGroup canary 11:00:00".
func (s *state) expectHolds(t *testing.T, want string) {
	t.Helper()
	var got []string
	for _, hold := range s.set.Status.Rollout.Holds {
		text := string(hold.Type)
		if hold.GroupName != "" {
			text += " " + hold.GroupName
		}
		got = append(got, text+" "+hold.Since.UTC().Format(time.TimeOnly))
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("held by %q, want %q", text, want)
	}
}

// TestAPercentageIsOfTheStart: a cluster that joins does not lift a breach.
func TestAPercentageIsOfTheStart(t *testing.T) {
	w := finishedState(t, "a b c d e", "p={type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 20%}}")
	w.pass(t)
	w.agents(t, "a b", failing, w.now)
	w.pass(t)
	w.selects("p", "a b c d e f")
	w.pass(t)
	w.expectTemplate(t, "a b")
	w.expectCondition(t, "Progressing", "False", "Breached", "2 clusters of 6 failed")
}

// TestAnApprovalByIndexIsOfAGroupWithoutAName: by now another group has the index, and was never approved.
func TestAnApprovalByIndexIsOfAGroupWithoutAName(t *testing.T) {
	for groups, want := range map[string]string{"canary:a|prod:b c": "a", "canary:a|b c": "a b c"} {
		w := finishedState(t, groups, "p={type: ProgressivePerGroup}")
		w.set.Spec.PlacementRefs[0].RolloutStrategy = parseStrategy(t, "{type: ProgressivePerGroup, approval: {required: [{groupIndex: 1}]}}")
		w.approvesIndex = true
		w.pass(t)
		w.agents(t, "a", healthy, w.now)
		w.pass(t)
		w.pass(t)
		w.expectTemplate(t, want)
	}
}

// TestADecisionIsOfOneRollout: a failure that was forgiven in an earlier rollout of the same template counts in this one.
func TestADecisionIsOfOneRollout(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1}}")
	w.selects("p", "a b")
	w.pass(t)
	w.agents(t, "a", failing, w.now)
	w.pass(t)
	w.expectCondition(t, "Progressing", "False", "Breached", "no more clusters start")
	this := w.set.Status.Rollout.StartedTime
	earlier := metav1.NewMicroTime(this.Add(-time.Hour))
	for sentence, test := range map[string]struct {
		started *metav1.MicroTime
		counts  bool
	}{"of this rollout": {&this, true}, "of an earlier one": {&earlier, false}, "of every rollout": {nil, true}} {
		in := w.input(t)
		in.Control = &rolloutv1alpha1.RolloutControl{Spec: rolloutv1alpha1.RolloutControlSpec{
			Forgiven: []rolloutv1alpha1.ForgivenCluster{{Cluster: "a", Revision: w.hash(t), StartedTime: test.started}},
		}}
		if out := plan.Plan(in); out.Begins != test.counts {
			t.Errorf("a decision %s: b starts %v, want %v", sentence, out.Begins, test.counts)
		}
	}
}

// TestAPlacementThatIsMadeAnewIsEdited: a healthy cluster that the new one does not select has left, as with an edit.
func TestAPlacementThatIsMadeAnewIsEdited(t *testing.T) {
	for sentence, test := range map[string]struct {
		uid  types.UID
		want clusterv1alpha1.ClusterRolloutPhase
	}{"made anew": {"another", clusterv1alpha1.ClusterLeft}, "the same": {"first", clusterv1alpha1.ClusterLost}} {
		w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1}}")
		w.selects("p", "a b")
		w.placements["p"].Object.UID = "first"
		w.pass(t)
		w.pass(t) // it is seen that a is healthy
		w.selects("p", "b")
		w.placements["p"].Object.UID = test.uid
		w.pass(t)
		if got := w.entry("a").Phase; got != test.want {
			t.Errorf("%s: a is %s, want %s", sentence, got, test.want)
		}
	}
}

// TestAChangeOfOverridesForgetsNothing: neither who was lost, nor that clusters are missing.
func TestAChangeOfOverridesForgetsNothing(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1}}")
	w.label("a", "x")
	w.label("b", "x")
	w.selects("p", "a b")
	w.pass(t)
	w.silence("b", "a")
	w.pass(t)
	w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster was lost")
	w.overrides(t, siteOverride)
	w.pass(t)
	w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster was lost")
	w.expectTemplate(t, "")
}

// TestABreachOutlastsItsPlacement: also where the placement is deleted, or its decision is not complete, before it is taken out of the set.
func TestABreachOutlastsItsPlacement(t *testing.T) {
	for sentence, loses := range map[string]func(w *state){
		"its placement is deleted": func(w *state) { delete(w.placements, "p") },
		"its decision is made":     func(w *state) { w.placements["p"].Object.Status.NumberOfSelectedClusters = 9 },
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1}}")
			w.selects("p", "a b")
			w.pass(t)
			w.agents(t, "a", failing, w.now)
			w.pass(t)
			w.expectHolds(t, "Breach 10:00:00")
			w.now = w.now.Add(time.Minute)
			loses(w)
			w.pass(t)
			w.expectHolds(t, "Breach 10:00:00")
			w.set.Spec.PlacementRefs[0].Name = "q"
			w.selects("q", "b c")
			w.written = nil
			w.pass(t)
			w.expectTemplate(t, "")
			w.expectCondition(t, "Progressing", "False", "Breached", "Placement p was breached when it was taken out")
		})
	}
}

// TestAReturnIsOfATemplateAlone: a decision to return at once sends no changed overrides past the pace of the set.
func TestAReturnIsOfATemplateAlone(t *testing.T) {
	w := finishedState(t, "a b c", "p={type: Progressive, progressive: {maxConcurrency: 1}}")
	w.template("1")
	w.label("a", "x")
	w.label("b", "x")
	w.label("c", "x")
	w.pass(t)
	w.overrides(t, siteOverride)
	w.returns = true
	w.written = nil
	w.pass(t)
	w.pass(t)
	w.expectWrites(t, "Update a")
	if !w.set.Status.Rollout.Overrides {
		t.Error("the record is not of overrides")
	}
}

// TestALostCanaryThatReturnsInAnotherGroupIsTriedAgain has a mandatory group whose proof a cluster of another group has to give.
func TestALostCanaryThatReturnsInAnotherGroupIsTriedAgain(t *testing.T) {
	w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 3, mandatoryDecisionGroups: [{groupIndex: 0}]}}")
	w.selects("p", "a b|c d")
	w.rollOut(t, "a b c d")
	w.kept[w.hash(t)] = true
	w.template("2")
	for range 2 {
		w.pass(t)
	}
	w.selects("p", "b|c d")
	w.pass(t)
	w.agents(t, "a b", healthy, w.now) // a removes what it had
	w.pass(t)
	w.expectCondition(t, "Progressing", "False", "Breached", "1 cluster was lost, and a mandatory group allows no failure")
	w.selects("p", "b|a c d")
	w.written = nil
	for range 4 {
		w.pass(t)
	}
	w.expectWrites(t, "Create a")
	if a := w.data(t, "a"); a != "value=2 site=" {
		t.Errorf("a has %q", a)
	}
	w.agents(t, "a", healthy, w.now)
	w.written = nil
	for range 2 {
		w.pass(t)
	}
	w.expectWrites(t, "Update c", "Update d")
}
