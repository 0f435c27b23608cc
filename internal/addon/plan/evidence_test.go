package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
)

const canaries = "{type: Progressive, progressive: {maxConcurrency: 3, mandatoryDecisionGroups: [{groupName: canary}]}}"

// rolledOut returns a hub on which the configuration "base" is rolled out over a decision, and the configuration "next" is about to be.
func rolledOut(t *testing.T, decision string, placements ...string) *state {
	t.Helper()
	w := newState(t, placements...)
	w.selects("p", decision)
	w.finish(t)
	w.changeTo("next", "2")
	return w
}

// changeTo changes the default configuration.
func (s *state) changeTo(name, hash string) {
	s.configs[name], s.addOn.Spec.SupportedConfigs[0].DefaultConfig.Name = hash, name
}

// finish rolls the present configurations out to every cluster.
func (s *state) finish(t *testing.T) {
	t.Helper()
	for range 12 {
		s.settle(t)
		for _, name := range fleetNames {
			s.reports(name, true)
		}
		s.watch(t, 12*time.Minute)
	}
	s.settle(t)
	if record := s.record(); record == nil || record.FinishedTime == nil {
		t.Fatalf("the rollout has not finished: %+v", record)
	}
}

// watch lets a manager run for a time.
func (s *state) watch(t *testing.T, span time.Duration) {
	t.Helper()
	for end := s.now.Add(span); s.now.Before(end); s.now = s.now.Add(time.Minute) {
		s.observe()
		s.settle(t)
	}
}

// record returns the record of the first placement; nil without one.
func (s *state) record() *clusterv1alpha1.RolloutRecord {
	return s.addOn.Status.InstallProgressions[0].Rollout
}

// entry returns what is on record of a cluster; the zero value for nothing.
func (s *state) entry(cluster string) clusterv1alpha1.ClusterRolloutRecord {
	for _, entry := range s.record().Clusters {
		if entry.Name == cluster {
			return entry
		}
	}
	return clusterv1alpha1.ClusterRolloutRecord{}
}

// passes lets hours go by.
func (s *state) passes(t *testing.T) plan.Result {
	t.Helper()
	for range 5 {
		s.observe()
		s.settle(t)
		s.now = s.now.Add(time.Hour)
	}
	return s.settle(t)
}

func (s *state) expect(t *testing.T, reaches, progressing string) {
	t.Helper()
	if got := s.reaches(); got != reaches || s.progressing() != progressing {
		t.Errorf("%q, %s, want %q, %s: %s", got, s.progressing(), reaches, progressing, s.message())
	}
}

func (s *state) message() string { return s.addOn.Status.InstallProgressions[0].Conditions[0].Message }

// good returns the hash of the last known good configuration.
func (s *state) good() string {
	return s.addOn.Status.InstallProgressions[0].ConfigReferences[0].LastKnownGoodConfig.SpecHash
}

// TestWhatStartsIsOnRecordFirst: a manager that dies at any instant leaves no started cluster without a record.
func TestWhatStartsIsOnRecordFirst(t *testing.T) {
	w := rolledOut(t, "a b", "p="+oneByOne)
	for range 3 { // the status is not stored
		if out := plan.Plan(w.input()); len(out.Writes) > 0 || !out.Begins {
			t.Fatalf("%d writes before the record is stored, begins %t", len(out.Writes), out.Begins)
		}
	}
	w.addOn.Status = plan.Plan(w.input()).Status
	if entry := w.entry("a"); entry.Phase != clusterv1alpha1.ClusterInFlight || entry.Written {
		t.Errorf("on record is %+v", entry)
	}
	out := plan.Plan(w.input())
	if len(out.Writes) != 1 || out.Writes[0].Cluster != "a" || out.Begins {
		t.Errorf("the writes are %+v", out.Writes)
	}
}

// TestAConfigurationThatKillsClustersStops: a cluster that leaves the decision before it succeeded is a failure, until it is back and
// succeeds.
func TestAConfigurationThatKillsClustersStops(t *testing.T) {
	w := rolledOut(t, "a b c d", "p="+oneByOne)
	w.settle(t)
	w.expect(t, "a=2 b=1 c=1 d=1", "True/Progressing")
	w.members = map[string]evidence.Member{"a": {Unavailable: true}}
	w.selects("p", "b c d e")
	w.passes(t)
	w.expect(t, "b=1 c=1 d=1 e=1", "False/Failed")
	if entry := w.entry("a"); entry.Phase != clusterv1alpha1.ClusterLost || entry.Reason != "fell silent before it succeeded" {
		t.Errorf("%+v", entry)
	}
	w.members = nil
	w.selects("p", "a b c d e")
	w.passes(t)
	w.expect(t, "a=2 b=1 c=1 d=1 e=1", "False/Failed")
	w.reports("a", true)
	w.observe()
	w.settle(t)
	w.expect(t, "a=2 b=2 c=1 d=1 e=1", "True/Progressing")
}

// TestADeadlineRunsFromTheStart: of each cluster from when it starts, whenever the rollout began, and never again once it succeeded.
func TestADeadlineRunsFromTheStart(t *testing.T) {
	w := rolledOut(t, "a b", "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 5m, progressDeadline: 10m}}")
	w.watch(t, 8*time.Minute)
	w.reports("a", true)
	w.watch(t, time.Minute)
	again := w.stored["a"].DeepCopy()
	again.Status.ConfigReferences[0].LastAppliedConfig = nil
	w.store(again, false)
	w.watch(t, 5*time.Minute)
	if entry := w.entry("a"); entry.Phase != clusterv1alpha1.ClusterInFlight || entry.SucceededTime != nil {
		t.Errorf("%+v, want that no deadline runs after its success", entry)
	}
	w.reports("a", true)
	w.watch(t, 7*time.Minute)
	began := w.entry("b").StartedTime.Time
	w.expect(t, "a=2 b=2", "True/Progressing")
	w.watch(t, began.Add(9*time.Minute).Sub(w.now))
	w.expect(t, "a=2 b=2", "True/Progressing") // it has 10 minutes of its own
	w.watch(t, 3*time.Minute)
	w.expect(t, "a=2 b=2", "False/Failed")
	if entry := w.entry("b"); entry.Phase != clusterv1alpha1.ClusterFailed || !strings.HasPrefix(entry.Reason, "the deadline passed at") {
		t.Errorf("%+v, want that its deadline passed", entry)
	}
}

// TestAFailureCountsUntilTheClusterSucceeds: a retry lets no other cluster start.
func TestAFailureCountsUntilTheClusterSucceeds(t *testing.T) {
	for sentence, change := range map[string]func(*testing.T, *state){
		"its add-on is deleted": func(_ *testing.T, w *state) { delete(w.stored, "a") },
		"it is under way again": func(_ *testing.T, w *state) {
			w.stored["a"].Status.Conditions[0].Reason = "Progressing"
		},
		"the strategy becomes All": func(_ *testing.T, w *state) {
			w.addOn.Spec.InstallStrategy.Placements[0].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All}
		},
		"the configuration is missing for a moment": func(t *testing.T, w *state) {
			delete(w.configs, "next")
			w.settle(t)
			w.expect(t, "a=2 b=1 c=1", "False/Misconfigured")
			w.configs["next"] = "2"
		},
		"another placement takes it": func(_ *testing.T, w *state) {
			w.addOn.Spec.InstallStrategy.Placements = append(w.addOn.Spec.InstallStrategy.Placements, addonv1alpha1.PlacementStrategy{
				PlacementRef: addonv1alpha1.PlacementRef{Namespace: space, Name: "q"},
			})
			w.selects("q", "a")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := rolledOut(t, "a b c", "p="+oneByOne)
			w.settle(t)
			w.reports("a", false)
			w.observe()
			w.settle(t)
			w.expect(t, "a=2 b=1 c=1", "False/Failed")
			change(t, w)
			w.passes(t)
			w.expect(t, "a=2 b=1 c=1", "False/Failed")
		})
	}
}

// TestAMandatoryGroupProvesTheConfiguration: what takes the canaries away lets no other group start.
func TestAMandatoryGroupProvesTheConfiguration(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*state)
		phase  string
	}{
		"its cluster leaves":        {func(w *state) { w.selects("p", "c d") }, "False/Failed"},
		"its cluster is relabelled": {func(w *state) { relabelled(w) }, "True/Progressing"},
		"a healthy cluster is deleted": {func(w *state) {
			w.members = map[string]evidence.Member{"a": {Gone: true}}
			w.selects("p", "c d")
		}, "False/MandatoryGroupUnproven"},
		"its cluster keeps add-ons out and has none": {func(w *state) {
			delete(w.stored, "a")
			w.clusters["a"].Annotations = map[string]string{addonv1alpha1.DisableInstallationAnnotation: ""}
		}, "False/Failed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := rolledOut(t, "canary:a|c d", "p="+canaries)
			w.settle(t)
			tc.change(w)
			w.passes(t)
			if got := w.reaches(); !strings.HasSuffix(got, "c=1 d=1") || w.progressing() != tc.phase {
				t.Errorf("%q, %s, want %s: %s", got, w.progressing(), tc.phase, w.message())
			}
		})
	}
	w := rolledOut(t, "canary:a|c d", "p="+canaries)
	w.settle(t)
	w.reports("a", true)
	w.passes(t)
	w.expect(t, "a=2 c=2 d=2", "True/Progressing")
}

func relabelled(w *state) { w.selects("p", "canary:|a c d") }

// TestAGroupThatIsMissingWaits: the message has what to do, and the strategy without the group goes on.
func TestAGroupThatIsMissingWaits(t *testing.T) {
	w := newState(t, "p="+canaries)
	w.selects("p", "a b")
	w.settle(t)
	w.expect(t, "", "False/MandatoryGroupUnproven")
	if want := "take it out of mandatoryDecisionGroups"; !strings.Contains(w.message(), want) {
		t.Errorf("%q lacks %q", w.message(), want)
	}
	w.addOn.Spec.InstallStrategy.Placements[0].RolloutStrategy.Progressive.MandatoryDecisionGroups = clusterv1alpha1.MandatoryDecisionGroups{}
	w.settle(t)
	w.expect(t, "a=1 b=1", "True/Progressing")
}

// TestAFinishedRolloutIsNeverHeldBack: what fails later stops no cluster that joins.
func TestAFinishedRolloutIsNeverHeldBack(t *testing.T) {
	w := rolledOut(t, "a b c", "p="+oneByOne)
	w.finish(t)
	w.reports("a", false)
	w.reports("b", false)
	w.selects("p", "a b c d")
	w.observe()
	w.settle(t)
	w.expect(t, "a=2 b=2 c=2 d=2", "True/Progressing")
}

// TestTheGoodConfigurationIsOfAFinishedRollout: soak included, with a sign of life after it, by the clock of the manager.
func TestTheGoodConfigurationIsOfAFinishedRollout(t *testing.T) {
	w := rolledOut(t, "a b", "p={type: Progressive, progressive: {maxConcurrency: 2, minSuccessTime: 10m}}")
	w.settle(t)
	w.reports("a", true)
	w.reports("b", true)
	renewed := w.now
	w.members = map[string]evidence.Member{"a": {Renewed: renewed}, "b": {Renewed: renewed}}
	w.watch(t, 20*time.Minute)
	if w.good() != "1" || w.progressing() != "True/Progressing" {
		t.Errorf("without a sign of life: last known good %s, %s", w.good(), w.progressing())
	}
	w.members = map[string]evidence.Member{"a": {Renewed: w.now}, "b": {Unavailable: true, Renewed: w.now}}
	w.watch(t, 5*time.Minute)
	if w.good() != "1" {
		t.Errorf("while b is silent: last known good %s", w.good())
	}
	w.members = map[string]evidence.Member{"b": {Renewed: w.now.Add(time.Hour)}}
	w.watch(t, 9*time.Minute)
	if w.good() != "1" {
		t.Errorf("nine minutes after b was silent: last known good %s", w.good())
	}
	w.watch(t, 3*time.Minute)
	if w.good() != "2" || w.progressing() != "False/Completed" {
		t.Errorf("at the end: last known good %s, %s", w.good(), w.progressing())
	}
}

// TestAClusterThatWaits keeps what it has; a new one gets what all others had.
func TestAClusterThatWaits(t *testing.T) {
	w := rolledOut(t, "a b", "p="+oneByOne)
	w.settle(t)
	w.selects("p", "a b c d")
	w.settle(t)
	w.expect(t, "a=2 b=1 c=1 d=1", "True/Progressing")
	w.changeTo("other", "3")
	w.finish(t)
	w.expect(t, "a=3 b=3 c=3 d=3", "False/Completed")
}

// TestPlacementsRollOutOnTheirOwn: a breach of one, whose configuration is another, holds no other; and a rollout finishes although another
// placement takes a cluster that waits.
func TestPlacementsRollOutOnTheirOwn(t *testing.T) {
	w := rolledOut(t, "a b c", "p="+oneByOne, "q="+oneByOne)
	w.selects("q", "d e")
	w.settle(t)
	w.reports("d", false)
	w.reports("a", true)
	w.observe()
	w.settle(t)
	w.expect(t, "a=2 b=2 c=1 d=1", "True/Progressing")
	w.selects("q", "c d e")
	w.reports("b", true)
	w.observe()
	w.settle(t)
	if record := w.record(); record.FinishedTime == nil {
		t.Errorf("the rollout over p has not finished: %s", w.message())
	}
}

// TestAnUpgradeChangesNothing: an add-on without a record gets one, and nothing else is written.
func TestAnUpgradeChangesNothing(t *testing.T) {
	forgets := func(w *state) {
		for i := range w.addOn.Status.InstallProgressions {
			w.addOn.Status.InstallProgressions[i].Rollout = nil
		}
	}
	for sentence, prepare := range map[string]func(*testing.T, *state){
		"the rollout has finished": func(*testing.T, *state) {},
		"it has, and a cluster fails since": func(_ *testing.T, w *state) {
			w.reports("a", false)
			w.observe()
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newState(t, "p={type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 10m}}")
			w.selects("p", "a b")
			w.finish(t)
			prepare(t, w)
			w.settle(t)
			want := w.addOn.Status.DeepCopy()
			forgets(w)
			out := w.pass(t)
			if len(out.Writes) > 0 || out.Begins {
				t.Errorf("%d writes", len(out.Writes))
			}
			if record := w.record(); record == nil || record.FinishedTime == nil {
				t.Errorf("the record is %+v", record)
			}
			stored := w.addOn.Status.DeepCopy()
			for range 3 {
				w.now = w.now.Add(time.Hour)
				if out := w.pass(t); len(out.Writes) > 0 {
					t.Errorf("%d writes an hour later", len(out.Writes))
				}
			}
			if diff := cmp.Diff(stored, &w.addOn.Status); diff != "" {
				t.Errorf("the status changes again (-before +after):\n%s", diff)
			}
			want.InstallProgressions[0].Rollout, stored.InstallProgressions[0].Rollout = nil, nil
			if diff := cmp.Diff(want, stored); diff != "" {
				t.Errorf("more than the record is written (-before +after):\n%s", diff)
			}
		})
	}
}

// TestAnUpgradeInTheMiddle: the record is rebuilt from what the clusters show, and no cluster starts anew.
func TestAnUpgradeInTheMiddle(t *testing.T) {
	for sentence, tc := range map[string]struct {
		succeeds         *bool
		reaches, entry   string
		progressing      string
		startsAfterwards string
	}{
		"one is under way": {nil, "a=2 b=2 c=1", "InFlight", "True/Progressing", "a=2 b=2 c=2"},
		"one has failed":   {new(bool), "a=2 b=2 c=1", "Failed", "False/Failed", "a=2 b=2 c=2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := rolledOut(t, "a b c", "p="+oneByOne)
			w.settle(t)
			w.reports("a", true)
			w.observe()
			w.settle(t)
			if tc.succeeds != nil {
				w.reports("b", *tc.succeeds)
			}
			w.addOn.Status.InstallProgressions[0].Rollout = nil
			w.observe()
			w.settle(t)
			w.settle(t)
			w.expect(t, tc.reaches, tc.progressing)
			if entry := w.entry("b"); string(entry.Phase) != tc.entry || w.entry("a").Name != "" {
				t.Errorf("on record are %+v", w.record().Clusters)
			}
			w.reports("b", true)
			w.observe()
			w.settle(t)
			if got := w.reaches(); got != tc.startsAfterwards {
				t.Errorf("%q after b succeeded", got)
			}
		})
	}
}

// TestAMissingConfigurationStartsNothing: not even the cluster whose own configuration is there.
func TestAMissingConfigurationStartsNothing(t *testing.T) {
	w := newState(t, "p="+oneByOne)
	w.configs["own"] = "o"
	delete(w.configs, "base")
	w.byHand("a", "own")
	w.selects("p", "a b")
	w.observe()
	w.settle(t)
	w.expect(t, "a=", "False/Misconfigured")
	const want = "No cluster starts before the configurations are there: addondeploymentconfigs.addon.open-cluster-management.io fleet/base"
	if !strings.Contains(w.message(), want) {
		t.Errorf("%q lacks %q", w.message(), want)
	}
	w.configs["base"] = "1"
	w.settle(t)
	w.expect(t, "a=o", "True/Progressing")
}

// TestARolloutWaitsForClustersThatAreMissing: the configuration is good once as many have it as were selected, or a person lets it be. An
// edit of the placement, which may be a mistake, is not enough.
func TestARolloutWaitsForClustersThatAreMissing(t *testing.T) {
	w := rolledOut(t, "a b", "p="+oneByOne)
	w.settle(t)
	object := w.selects("p", "a")
	w.passes(t)
	w.reports("a", true)
	w.passes(t)
	w.expect(t, "a=2", "True/Progressing")
	const want = "1 cluster that the rollout began with, or that an edit added, not selected now"
	if !strings.Contains(w.message(), want) || w.good() != "1" {
		t.Errorf("%q lacks %q; last known good %s", w.message(), want, w.good())
	}
	object.Generation, object.Status.Conditions[0].ObservedGeneration = 2, 2
	w.passes(t)
	w.expect(t, "a=2", "True/Progressing")
	_, command, _ := strings.Cut(w.message(), addonv1alpha1.WithoutMissingAnnotation+"=")
	revision, _, _ := strings.Cut(command, " ")
	w.addOn.Annotations = map[string]string{addonv1alpha1.WithoutMissingAnnotation: "another"}
	w.passes(t)
	w.expect(t, "a=2", "True/Progressing")
	w.addOn.Annotations[addonv1alpha1.WithoutMissingAnnotation] = revision
	w.passes(t)
	w.expect(t, "a=2", "False/Completed")
}

// TestNothingToRollOutHasNoRecord: neither a placement without clusters nor a missing one.
func TestNothingToRollOutHasNoRecord(t *testing.T) {
	w := newState(t, "p="+oneByOne)
	for _, change := range []func(){func() {}, func() { w.selects("p", "") }, func() { w.selects("p", "-") }} {
		change()
		w.settle(t)
		if record := w.record(); record != nil {
			t.Errorf("the record is %+v", record)
		}
	}
}

// TestARecordCountsWhatLeaves: a cluster that had succeeded and loses the add-on is counted once.
func TestARecordCountsWhatLeaves(t *testing.T) {
	w := rolledOut(t, "a b c", "p="+oneByOne)
	w.settle(t)
	w.reports("a", true)
	w.observe()
	w.settle(t)
	w.selects("p", "b c")
	w.passes(t)
	if groups := w.record().Placements[0].Groups; len(groups) != 1 || groups[0].Departed != 1 || groups[0].Succeeded != 1 {
		t.Errorf("the counts are %+v", groups)
	}
	w.expect(t, "b=2 c=1", "True/Progressing")
}
