package rollouts_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
	"github.com/berth-project/berth/internal/delivery/report"
)

// rolloutOf310 is a rollout over 310 clusters, as an operator follows it: the canary group, then groups of 150. One cluster fails.
type rolloutOf310 struct {
	*plantest.State

	out  strings.Builder
	live *rollouts.Live
}

// strategyOf310 waits for each group, and for the canaries before all others.
const strategyOf310 = `{type: ProgressivePerGroup, progressivePerGroup: {maxFailures: 2, minSuccessTime: 30s, progressDeadline: 50m,
  mandatoryDecisionGroups: [{groupName: canary}]}}`

func newRolloutOf310(t *testing.T, terminal bool) *rolloutOf310 {
	t.Helper()
	clusters := plantest.Clusters("edge", 300)
	w := plantest.New(t, now, strategyOf310,
		plantest.Group{Name: "canary", Clusters: plantest.Clusters("canary", 10)}, plantest.Group{Clusters: clusters[:150]},
		plantest.Group{Clusters: clusters[150:]})
	return &rolloutOf310{State: w, live: rollouts.NewLive(printer.Screen{Width: printer.DefaultWidth}, terminal)}
}

// show plans, and appends what the view writes.
func (r *rolloutOf310) show(t *testing.T) rollouts.Outcome {
	t.Helper()
	found := report.New(r.Input())
	text, outcome := r.live.Show(&found, r.Now)
	for line := range strings.Lines(strings.ReplaceAll(text, printer.EraseLineAbove, "")) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > printer.DefaultWidth {
			t.Errorf("a line is wider than the screen: %q", line)
		}
	}
	if erased := strings.Count(text, printer.EraseLineAbove); erased > 0 {
		text = fmt.Sprintf("(%d lines are erased)\n%s", erased, strings.ReplaceAll(text, printer.EraseLineAbove, ""))
	}
	r.out.WriteString(text)
	return outcome
}

// run follows the rollout to its end, and returns what the view wrote.
func (r *rolloutOf310) run(t *testing.T) (string, rollouts.Outcome) {
	t.Helper()
	r.Step()
	for range 100 {
		if outcome := r.show(t); outcome.Ended {
			return r.out.String(), outcome
		}
		r.Wait(20 * time.Second)
		var open []string
		for _, cluster := range printer.SortedKeys(r.Works) {
			if conditions := r.Works[cluster].Status.Conditions; len(conditions) == 0 {
				open = append(open, cluster)
			}
		}
		done := open[:min(len(open), 75)]
		if slices.Contains(done, "edge-042") {
			r.Degrade("edge-042", "1 of 1 resources are failing: Deployment shop/web: ErrImagePull")
			done = slices.DeleteFunc(slices.Clone(done), func(name string) bool { return name == "edge-042" })
		}
		r.Succeed(done...)
		r.Step()
	}
	t.Fatalf("the rollout has not ended:\n%s", r.out.String())
	return "", rollouts.Outcome{}
}

func TestWatchARolloutOf310Clusters(t *testing.T) {
	for name, terminal := range map[string]bool{"watch-lines.txt": false, "watch-frames.txt": true} {
		t.Run(name, func(t *testing.T) {
			out, outcome := newRolloutOf310(t, terminal).run(t)
			if outcome.Reason != "" {
				t.Errorf("the rollout ended with %+v", outcome)
			}
			checkGolden(t, name, out)
			page, err := os.ReadFile("../../../docs/how-to/roll-out-in-waves.md")
			if err != nil {
				t.Fatal(err)
			}
			if terminal { // the page has one of the frames
				const frame = 4
				out = regexp.MustCompile(`\(\d+ lines are erased\)\n`).Split(out, -1)[frame]
			}
			if !strings.Contains(string(page), "```text\n"+out+"```\n") {
				t.Errorf("docs/how-to/roll-out-in-waves.md does not have these lines:\n%s", out)
			}
		})
	}
}

// TestWatchEnds holds how a live view ends.
func TestWatchEnds(t *testing.T) {
	const lenient = "{type: Progressive, progressive: {maxConcurrency: 1, maxFailures: 0}}"
	for name, tc := range map[string]struct {
		strategy     string
		change       func(w *plantest.State)
		ended        bool
		reason, next string
		waits        bool
		// later means that the view waits a moment before it ends.
		later bool
	}{
		"under way": {lenient, nil, false, "", "", false, false},
		"finished": {"{type: All}", func(w *plantest.State) {
			w.Succeed("a", "b")
			w.Step()
		}, true, "", "", false, false},
		"finished, and not recorded yet": {"{type: All}", func(w *plantest.State) { w.Succeed("a", "b") }, false, "", "", false, false},
		"breached": {
			lenient, func(w *plantest.State) { w.Degrade("a", "no image") }, true,
			"fleet: 1 cluster of 2 failed, more than maxFailures allows: no more clusters start",
			"starts when the failed clusters succeed: correct the template, forgive with `kubectl berth rollout forgive web CLUSTER -n shop " +
				"--reason WHY`, raise maxFailures, or return with `kubectl berth rollout undo web -n shop`", false, false,
		},
		"paused with a cluster under way": {
			lenient, func(w *plantest.State) { w.Set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true }, false,
			"", "", false, false,
		},
		"paused": {
			lenient, func(w *plantest.State) {
				w.Succeed("a")
				w.Set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true
			}, true, "fleet: Paused with 1 cluster to start", "starts after `kubectl berth rollout resume web -n shop`", true, false,
		},
		"no decision": {
			lenient, func(w *plantest.State) { w.Decide() }, true, "fleet: The placement has decided nothing yet",
			"waits for its placement: see `kubectl berth explain placement fleet -n shop`", false, true,
		},
		"a decision that is not filled yet": {
			lenient, func(w *plantest.State) {
				w.Decide(plantest.Group{Clusters: []string{"a"}})
				w.Slices[0].Status.Decisions, w.Placement.Status.NumberOfSelectedClusters = nil, 0
			}, true, "fleet: The placement selects no cluster, so there is nothing to roll out",
			"waits for its placement: see `kubectl berth explain placement fleet -n shop`", false, true,
		},
		"paused, and not planned since": {
			lenient, func(w *plantest.State) {
				w.Succeed("a")
				w.Set.Spec.PlacementRefs[0].RolloutStrategy.Paused = true
				w.Set.Generation++
			}, true, "fleet: Paused with 1 cluster to start", "starts after `kubectl berth rollout resume web -n shop`", true, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := plantest.New(t, now, tc.strategy, plantest.Group{Clusters: []string{"a", "b"}})
			w.Step()
			if tc.change != nil {
				tc.change(w)
			}
			live := rollouts.NewLive(printer.Screen{}, false)
			found := report.New(w.Input())
			if _, outcome := live.Show(&found, now); outcome.Ended != (tc.ended && !tc.later) {
				t.Errorf("at once: %+v", outcome)
			}
			_, outcome := live.Show(&found, now.Add(5*time.Second))
			if want := (rollouts.Outcome{Ended: tc.ended, Reason: tc.reason, Next: tc.next, Waits: tc.waits}); outcome != want {
				t.Errorf("after a moment: %+v, want %+v", outcome, want)
			}
		})
	}
}
