package simulation_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/rollout"
	"github.com/berth-project/berth/rollout/simulation"
)

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// fleet is the names of a fleet, made once.
func fleet(size int) []string {
	out := make([]string, 0, size)
	for i := range size {
		out = append(out, fmt.Sprintf("c%04d", i))
	}
	return out
}

// divided returns clusters in groups of a size, the first of them named canary, with holes in the indexes.
func divided(clusters []string, size int) rollout.Groups {
	out := rollout.Groups{ClustersPerDecisionGroup: intstr.FromInt32(int32(size))}
	for part := range slices.Chunk(clusters, size) {
		group := decision.Group{GroupKey: decision.GroupKey{Index: 2 * len(out.Groups)}, Clusters: part}
		if group.Index == 0 {
			group.Name = "canary"
		}
		out.Groups = append(out.Groups, group)
	}
	return out
}

// randomRun draws a rollout over a part of a fleet.
func randomRun(random *rand.Rand, clusters []string, failures bool) simulation.Run {
	from := random.IntN(len(clusters))
	clusters = clusters[from : from+1+random.IntN(len(clusters)-from)]
	config := clusterv1alpha1.RolloutConfig{
		MinSuccessTime: metav1.Duration{Duration: time.Duration(random.IntN(3)) * 10 * time.Minute},
		MaxFailures:    intstr.FromString(fmt.Sprintf("%d%%", random.IntN(30))),
	}
	if failures {
		config.ProgressDeadline = fmt.Sprintf("%dm", 20+random.IntN(60))
	}
	groups := divided(clusters, 1+len(clusters)/(2+random.IntN(8)))
	var mandatory clusterv1alpha1.MandatoryDecisionGroups
	if random.IntN(2) == 0 {
		mandatory.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
		if len(groups.Groups) > 2 {
			mandatory.MandatoryDecisionGroups = append(mandatory.MandatoryDecisionGroups, clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: 4})
		}
	}
	out := simulation.Run{
		Strategy: &clusterv1alpha1.RolloutStrategy{}, Groups: groups, Start: start,
		Fleet: simulation.Fleet{Seed: random.Uint64(), Duration: 10 * time.Minute, Spread: random.Float64(), Grain: 5 * time.Minute},
	}
	if failures {
		out.Fleet.FailureRate, out.Fleet.HangRate = random.Float64()*random.Float64()/4, random.Float64()*random.Float64()/10
	}
	switch random.IntN(5) {
	case 0:
		out.Strategy.Type, out.Strategy.All = clusterv1alpha1.All, &clusterv1alpha1.RolloutAll{RolloutConfig: config}
	case 1, 2:
		out.Strategy.Type = clusterv1alpha1.ProgressivePerGroup
		out.Strategy.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: config, MandatoryDecisionGroups: mandatory}
	default:
		limit := intstr.FromString(fmt.Sprintf("%d%%", 5+random.IntN(60)))
		if random.IntN(4) == 0 {
			limit = intstr.IntOrString{}
		}
		out.Strategy.Type = clusterv1alpha1.Progressive
		out.Strategy.Progressive = &clusterv1alpha1.RolloutProgressive{
			RolloutConfig: config, MandatoryDecisionGroups: mandatory,
			MaxConcurrency: limit,
		}
	}
	return out
}

// runToEnd runs a rollout and checks its invariants at every event. It returns the last step and the number of events.
func runToEnd(t *testing.T, at string, p simulation.Run) (last rollout.Step, moments, starts int) {
	t.Helper()
	started := map[string]bool{}
	before := start
	breached := false
	for moment := range p.Events() {
		step := moment.Step
		moments++
		starts += len(step.Apply)
		switch {
		case moment.At.Before(before):
			t.Fatalf("%s: time goes back from %s to %s", at, before, moment.At)
		case step.InFlight > step.MaxConcurrency:
			t.Fatalf("%s: %d under way, at most %d may", at, step.InFlight, step.MaxConcurrency)
		case breached && len(step.Apply) > 0:
			t.Fatalf("%s: %d start after a breach", at, len(step.Apply))
		}
		for _, cluster := range step.Apply {
			if started[cluster] {
				t.Fatalf("%s: %s starts twice", at, cluster)
			}
			started[cluster] = true
		}
		inOrder(t, at, p.Strategy, step)
		breached = breached || step.Phase == rollout.PhaseBreached
		before, last = moment.At, step
	}
	return last, moments, starts
}

// inOrder fails if a cluster starts while an earlier group that must be done is not.
func inOrder(t *testing.T, at string, s *clusterv1alpha1.RolloutStrategy, step rollout.Step) {
	t.Helper()
	if len(step.Apply) == 0 || s.Type == clusterv1alpha1.All {
		return
	}
	var open decision.GroupKey
	has := false
	for _, v := range step.Verdicts {
		gated := s.Type == clusterv1alpha1.ProgressivePerGroup || has && open == v.Group
		if s.Type == clusterv1alpha1.Progressive && len(s.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups) > 0 {
			gated = gated || v.Group.Name == "canary" || v.Group.Index == 4
		}
		if v.Code == rollout.Starting && has && open != v.Group {
			t.Fatalf("%s: %s starts in group %s before group %s is done", at, v.Cluster, v.Group, open)
		}
		active := v.Code == rollout.Starting || v.Code == rollout.UnderWay || v.Code == rollout.Soaking || v.Code == rollout.WaitsForPlace
		if gated && active && !has {
			open, has = v.Group, true
		}
	}
}

// TestWhereAllSucceedARolloutFinishes needs no deadline for it.
func TestWhereAllSucceedARolloutFinishes(t *testing.T) {
	clusters := fleet(60)
	for seed := range uint64(500) {
		p := randomRun(rand.New(rand.NewPCG(seed, 1)), clusters, false)
		last, _, starts := runToEnd(t, fmt.Sprintf("seed %d", seed), p)
		if last.Phase != rollout.PhaseFinished || starts != last.Total || last.Failures > 0 || last.InFlight > 0 {
			t.Fatalf("seed %d: ended %s, with %d of %d clusters started: %s", seed, last.Phase, starts, last.Total, last.Message())
		}
	}
}

// TestWithDeadlinesARolloutEndsOrIsBreached though clusters fail and hang.
func TestWithDeadlinesARolloutEndsOrIsBreached(t *testing.T) {
	clusters := fleet(60)
	ends := map[rollout.Phase]int{}
	for seed := range uint64(1000) {
		p := randomRun(rand.New(rand.NewPCG(seed, 2)), clusters, true)
		last, _, _ := runToEnd(t, fmt.Sprintf("seed %d", seed), p)
		if !last.Ended() || last.InFlight > 0 {
			t.Fatalf("seed %d: ended %s with %d under way", seed, last.Phase, last.InFlight)
		}
		ends[last.Phase]++
	}
	if ends[rollout.PhaseFinished] < 100 || ends[rollout.PhaseBreached]+ends[rollout.PhaseFailed] < 100 {
		t.Errorf("ends: %v: these plays show little", ends)
	}
}

// TestAThousandRolloutsOverAFleet runs a thousand rollouts, each over a part of five thousand clusters, one after the
// other in steps of five minutes.
func TestAThousandRolloutsOverAFleet(t *testing.T) {
	clusters := fleet(5000)
	ends := map[rollout.Phase]int{}
	moments, starts, selected := 0, 0, 0
	for seed := range uint64(1000) {
		p := randomRun(rand.New(rand.NewPCG(seed, 3)), clusters, true)
		last, m, s := runToEnd(t, fmt.Sprintf("seed %d", seed), p)
		if !last.Ended() {
			t.Fatalf("seed %d: ended %s", seed, last.Phase)
		}
		moments, starts, selected = moments+m, starts+s, selected+last.Total
		ends[last.Phase]++
	}
	t.Logf("%d steps, %d of %d clusters started, ends: %v", moments, starts, selected, ends)
}

func TestTheSameRunHasTheSameEvents(t *testing.T) {
	p := randomRun(rand.New(rand.NewPCG(7, 7)), fleet(200), true)
	var first, again []simulation.Event
	for moment := range p.Events() {
		first = append(first, moment)
	}
	for moment := range p.Events() {
		again = append(again, moment)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
}

// TestReports holds what becomes of clusters that fail, hang and take their time.
func TestReports(t *testing.T) {
	p := simulation.Run{Groups: divided(fleet(4000), 4000), Start: start, Fleet: simulation.Fleet{
		Seed: 1, FailureRate: 0.25, HangRate: 0.25, Duration: 10 * time.Minute, Spread: 0.5, Grain: time.Minute,
	}}
	succeeded, failed := 0, 0
	for moment := range p.Events() {
		succeeded, failed = succeeded+len(moment.Succeeded), failed+len(moment.Failed)
		if took := moment.At.Sub(start); took != 0 && (took < 5*time.Minute || took > 15*time.Minute || took%time.Minute != 0) {
			t.Errorf("reports after %s", took)
		}
	}
	if succeeded < 1900 || succeeded > 2100 || failed < 900 || failed > 1100 {
		t.Errorf("%d of 4000 succeeded and %d failed, want about 2000 and 1000", succeeded, failed)
	}
}

// TestALostClusterHoldsTheRollout: a canary that leaves once it has the change breaches the rollout, whatever maxFailures is. Elsewhere a
// lost cluster counts for maxFailures.
func TestALostClusterHoldsTheRollout(t *testing.T) {
	cases := map[string]struct {
		lost []string
		// limit is maxFailures.
		limit   int
		phase   rollout.Phase
		started int
	}{
		"no cluster":                      {phase: rollout.PhaseFinished, started: 6},
		"a canary":                        {lost: []string{"c0000"}, limit: 3, phase: rollout.PhaseBreached, started: 2},
		"every canary":                    {lost: []string{"c0000", "c0001"}, limit: 3, phase: rollout.PhaseBreached, started: 2},
		"a later one, which is tolerated": {lost: []string{"c0003"}, limit: 1, phase: rollout.PhaseFinished, started: 6},
		"more than are tolerated":         {lost: []string{"c0002", "c0003"}, limit: 1, phase: rollout.PhaseBreached, started: 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			strategy := &clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
				RolloutConfig: clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt(c.limit)}, MaxConcurrency: intstr.FromInt(2),
				MandatoryDecisionGroups: clusterv1alpha1.MandatoryDecisionGroups{
					MandatoryDecisionGroups: []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}},
				},
			}}
			p := simulation.Run{
				Strategy: strategy, Groups: divided(fleet(6), 2), Start: start, Lost: c.lost,
				Fleet: simulation.Fleet{Duration: time.Minute},
			}
			last, _, started := runToEnd(t, name, p)
			if last.Phase != c.phase || started != c.started {
				t.Errorf("%s after %d starts, want %s after %d: %s", last.Phase, started, c.phase, c.started, last.Message())
			}
		})
	}
}

// TestADurationThatIsTooLongIsNotShort covers a cluster that takes longer than a duration can express. It must not report
// at once.
func TestADurationThatIsTooLongIsNotShort(t *testing.T) {
	for _, grain := range []time.Duration{0, time.Hour, math.MaxInt64} {
		p := simulation.Run{Groups: divided(fleet(20), 20), Start: start, Fleet: simulation.Fleet{
			Seed: 1, Duration: math.MaxInt64, Spread: 1, Grain: grain,
		}}
		for moment := range p.Events() {
			if took := moment.At.Sub(start); len(moment.Succeeded) > 0 && took < 24*time.Hour {
				t.Errorf("in steps of %s, %v report after %s", grain, moment.Succeeded, took)
			}
		}
	}
}

// TestARunContinuesFromStatuses verifies that a finished cluster stays finished, and that a started cluster continues.
func TestARunContinuesFromStatuses(t *testing.T) {
	p := simulation.Run{
		Strategy: &clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.ProgressivePerGroup}, Groups: divided(fleet(3), 1), Start: start,
		Statuses: []rollout.Status{
			{Cluster: "c0000", State: rollout.StateSucceeded},
			{Cluster: "c0001", State: rollout.StateProgressing, Since: start.Add(-time.Hour)},
		},
		Fleet: simulation.Fleet{Duration: time.Minute},
	}
	var got []string
	for moment := range p.Events() {
		got = append(got, fmt.Sprintf("%s %s start %v, succeeded %v", moment.At.Sub(start), moment.Step.Phase, moment.Step.Apply,
			moment.Succeeded))
	}
	want := []string{
		"0s Waiting start [], succeeded []", "1m0s Advancing start [c0002], succeeded [c0001]", "2m0s Finished start [], succeeded [c0002]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestADeadlineThatHasPassedAtOnce ends although no cluster reports.
func TestADeadlineThatHasPassedAtOnce(t *testing.T) {
	p := simulation.Run{
		Strategy: &clusterv1alpha1.RolloutStrategy{All: &clusterv1alpha1.RolloutAll{
			RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "0s"},
		}},
		Groups: divided(fleet(3), 3), Start: start, Fleet: simulation.Fleet{HangRate: 1},
	}
	last, moments, _ := runToEnd(t, "hanging", p)
	if last.Phase != rollout.PhaseFailed || len(last.TimedOut) != 3 || moments != 2 {
		t.Errorf("ended %s after %d moments, timed out %v", last.Phase, moments, last.TimedOut)
	}
}
