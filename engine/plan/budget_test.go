package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// apply decides the only placement of a state and applies the first writes, or all if most is negative.
func apply(t *testing.T, w *enginetest.State, most int) (writes []string, again time.Time) {
	t.Helper()
	made := plan.Diff(enginetest.Decide(t, w), w.Stored(enginetest.OnlyPlacement(t, w)), w.Now)
	for i, write := range made.Writes {
		if i == most {
			break
		}
		w.Apply(write)
		writes = append(writes, write.Verb.String())
	}
	return writes, made.RecheckAt
}

// budgetText returns the stored budget, with instants as seconds since the epoch.
func budgetText(w *enginetest.State, key fleet.Key) string {
	var out []string
	status := w.Placements[key].Status.Disruption
	if status == nil {
		return "nothing"
	}
	since := func(at metav1.Time) int { return int(at.Sub(enginetest.Epoch) / time.Second) }
	for _, spent := range status.Spent {
		out = append(out, fmt.Sprintf("%d at %d", spent.Count, since(spent.At)))
	}
	if len(status.Releasing) > 0 {
		out = append(out, "releasing "+strings.Join(status.Releasing, " "))
	}
	for _, held := range status.Held {
		out = append(out, fmt.Sprintf("held %s since %d", strings.Join(held.Clusters, " "), since(held.Since)))
	}
	return strings.Join(out, ", ")
}

func qualify(names ...string) []any {
	var out []any
	for _, name := range names {
		out = append(out, enginetest.Cluster(name).In("all").Label("fit", "yes").Obj())
	}
	return out
}

// withBudget is a placement that removes one cluster a minute, with its clusters selected.
func withBudget(t *testing.T, names ...string) *enginetest.State {
	t.Helper()
	object := p().Labels("fit", "yes").Obj()
	object.Spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{
		MaxUnavailable: intstr.FromInt32(1), Interval: metav1.Duration{Duration: time.Minute},
	}
	w := enginetest.NewState(append(qualify(names...), object, enginetest.Set("all").Obj())...).Bind("ns", "all")
	apply(t, w, -1)
	return w
}

func disqualify(w *enginetest.State, names ...string) {
	for _, name := range names {
		w.Add(enginetest.Cluster(name).In("all").Obj())
	}
}

func TestABudgetIsSpentBeforeAClusterLeaves(t *testing.T) {
	w := withBudget(t, "a", "b", "c", "d")
	key := enginetest.OnlyPlacement(t, w)
	disqualify(w, "a", "b", "c")
	if writes, _ := apply(t, w, 1); !cmp.Equal(writes, []string{"update-budget"}) {
		t.Errorf("the first write is %v, want update-budget", writes)
	}
	for _, step := range []struct {
		after time.Duration
		most  int
		want  string
		stays []string
	}{
		{0, 0, "1 at 0, releasing a", []string{"a", "b", "c", "d"}},
		// after the crash, a is removed without another charge, dated anew
		{30 * time.Second, -1, "1 at 30, held b c since 30", []string{"b", "c", "d"}},
		{90*time.Second - 1, -1, "1 at 30, held b c since 30", []string{"b", "c", "d"}},
		{90 * time.Second, -1, "1 at 90, held c since 30", []string{"c", "d"}},
	} {
		w.At(enginetest.Epoch.Add(step.after))
		apply(t, w, step.most)
		if got := budgetText(w, key); got != step.want {
			t.Errorf("after %s: the ledger is %q, want %q", step.after, got, step.want)
		}
		if diff := cmp.Diff(step.stays, plan.Clusters(w.SlicesOf(key)[0])); diff != "" {
			t.Errorf("after %s: selected (-want +got):\n%s", step.after, diff)
		}
	}
	held := meta.FindStatusCondition(w.Placements[key].Status.Conditions, clusterv1beta1.PlacementConditionHeld)
	if want := "1 selected ManagedClusters would be dropped and are held by spec.disruptionPolicy: c. They stay " +
		"selected until its budget is " +
		"free again or they qualify again"; held == nil || held.Message != want {
		t.Errorf("condition %v, want %q", held, want)
	}
	for _, object := range qualify("c") {
		w.Add(object)
	}
	apply(t, w, -1)
	if got := budgetText(w, key); got != "1 at 90" {
		t.Errorf("recovered, the ledger is %q, want no held cluster", got)
	}
	next := w.Placements[key].DeepCopy()
	next.Spec.DisruptionPolicy = nil
	next.Generation++
	w.Add(next)
	apply(t, w, -1)
	if got := budgetText(w, key); got != "nothing" {
		t.Errorf("without a policy the ledger is %q", got)
	}
	if meta.FindStatusCondition(w.Placements[key].Status.Conditions, clusterv1beta1.PlacementConditionHeld) != nil {
		t.Error("without a policy the condition is still there")
	}
}

func TestAPercentageCountsOnlySelectedClusters(t *testing.T) {
	for name, tc := range map[string]struct {
		selected, unfit, come int
		most                  string
		want, then            string
	}{
		// Two held, two come: 12 selected would allow two, but 10 would be left.
		"newcomers do not count beside removed clusters": {10, 2, 2, "10%", "1 at 0, held n001 since 0", "1 at 60"},
		// 13 would be selected if five went and would allow seven, but 12 allow six.
		"six of twelve and not seven of eleven": {10, 9, 8, "50%", "6 at 0, held n006 n007 n008 since 0", "3 at 60"},
		"of those selected before": {
			10, 10, 0, "40%", "4 at 0, held n004 n005 n006 n007 n008 n009 since 0",
			"3 at 60, held n007 n008 n009 since 0",
		},
		"all of them are no limit":      {10, 10, 0, "100%", "10 at 0", "10 at 0"},
		"of many that come, in the end": {10, 3, 20, "10%", "3 at 0", "3 at 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withBudget(t, clusters(0, tc.selected)...)
			key := enginetest.OnlyPlacement(t, w)
			w.Placements[key].Spec.DisruptionPolicy.MaxUnavailable = intstr.Parse(tc.most)
			disqualify(w, clusters(0, tc.unfit)...)
			for _, object := range qualify(clusters(tc.selected, tc.selected+tc.come)...) {
				w.Add(object)
			}
			apply(t, w, -1)
			if got := budgetText(w, key); got != tc.want {
				t.Errorf("the ledger is %q, want %q", got, tc.want)
			}
			if writes, _ := apply(t, w, -1); len(writes) > 0 {
				t.Errorf("deciding again writes %v", writes)
			}
			w.At(enginetest.Epoch.Add(time.Minute))
			apply(t, w, -1)
			if got := budgetText(w, key); got != tc.then {
				t.Errorf("a minute later the ledger is %q, want %q", got, tc.then)
			}
		})
	}
}

func TestAClusterThatStaysIsReleasedNoMore(t *testing.T) {
	w := withBudget(t, "a", "b")
	disqualify(w, "a")
	apply(t, w, 1)
	for _, object := range qualify("a") {
		w.Add(object)
	}
	writes, _ := apply(t, w, -1)
	if diff := cmp.Diff([]string{"update-budget"}, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := budgetText(w, enginetest.OnlyPlacement(t, w)); got != "1 at 0" {
		t.Errorf("the ledger is %q, want the charge without a cluster", got)
	}
}

func TestAChangeOfTheSpecDropsAtOnceExceptHeldClusters(t *testing.T) {
	w := withBudget(t, "a", "b", "c", "d")
	key := enginetest.OnlyPlacement(t, w)
	disqualify(w, "a", "b")
	apply(t, w, -1) // a is gone, b is held
	next := w.Placements[key].DeepCopy()
	next.Spec.Predicates[0].RequiredClusterSelector.LabelSelector = enginetest.LabelIs("other", "yes")
	next.Generation++
	w.Add(next)
	apply(t, w, -1)
	if diff := cmp.Diff([]string{"b"}, plan.Clusters(w.SlicesOf(key)[0])); diff != "" {
		t.Errorf("selected (-want +got):\n%s", diff)
	}
}

func TestTheFirstDecisionIsOneForANewSpecThoughAMistakeWasReportedBefore(t *testing.T) {
	w := hub(p().CEL(`managedCluster.metadata.labels["fit"] == "yes"`).Budget("0", time.Minute), []string{"a", "b"}, slice(1, "a", "b").Obj())
	key := enginetest.OnlyPlacement(t, w)
	apply(t, w, -1) // the label is nowhere, so nothing is decided
	if diff := cmp.Diff([]string{"a", "b"}, plan.Clusters(w.SlicesOf(key)[0])); diff != "" {
		t.Errorf("selected while nothing is decided (-want +got):\n%s", diff)
	}
	for _, object := range qualify("b") {
		w.Add(object)
	}
	apply(t, w, -1)
	if diff := cmp.Diff([]string{"b"}, plan.Clusters(w.SlicesOf(key)[0])); diff != "" {
		t.Errorf("selected once the label is somewhere (-want +got):\n%s", diff)
	}
	if got := budgetText(w, key); got != "nothing" {
		t.Errorf("the ledger is %q, want an empty one: a first decision is free", got)
	}
}

// shown returns the decisions of the first slice.
func shown(w *enginetest.State, key fleet.Key) string {
	var out []string
	for _, entry := range w.SlicesOf(key)[0].Status.Decisions {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%d %s", entry.ClusterName, entry.Score, entry.Reason)))
	}
	return strings.Join(out, ", ")
}

func TestScoresAreShownAndRewrittenSoOften(t *testing.T) {
	object := p().Mode("Exact").AddOn("load", "cpu", 1).Obj()
	object.Spec.SortBy, object.Spec.ScoreRateLimit = clusterv1beta1.SortByScore, "1m"
	object.Spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "only"}}
	w := enginetest.NewState(append(qualify("a", "b"), object, enginetest.Set("all").Obj())...).Bind("ns", "all").
		Add(enginetest.Score("a", "load").Value("cpu", 1).Obj()).Add(enginetest.Score("b", "load").Value("cpu", 2).Obj())
	key := enginetest.OnlyPlacement(t, w)
	apply(t, w, -1)
	if got := shown(w, key); got != "b=2 only, a=1 only" {
		t.Errorf("shows %q, want the highest score first", got)
	}
	w.Add(enginetest.Score("a", "load").Value("cpu", 3).Obj()).At(enginetest.Epoch.Add(time.Minute - 1))
	writes, again := apply(t, w, -1)
	if len(writes) > 0 || !again.Equal(enginetest.Epoch.Add(time.Minute)) {
		t.Errorf("wrote %v and looks again at %v, want to wait for a minute", writes, again)
	}
	w.At(enginetest.Epoch.Add(time.Minute))
	if writes, again = apply(t, w, -1); len(writes) != 2 || !again.IsZero() || shown(w, key) != "a=3 only, b=2 only" {
		t.Errorf("wrote %v, shows %q", writes, shown(w, key))
	}
	w.Add(enginetest.Score("b", "load").Value("cpu", 9).Obj()).Add(qualify("c")[0])
	if apply(t, w, -1); shown(w, key) != "b=9 only, a=3 only, c=0 only" {
		t.Errorf("shows %q, want fresh scores with a newcomer", shown(w, key))
	}
	next := w.Placements[key].DeepCopy()
	next.Spec.SortBy = clusterv1beta1.SortByClusterName
	w.Add(next)
	if apply(t, w, -1); shown(w, key) != "a=0 only, b=0 only, c=0 only" {
		t.Errorf("shows %q, want no scores", shown(w, key))
	}
}
