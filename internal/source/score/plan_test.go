package score

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// names are the scores of an object, which are measured each ten seconds.
func names() []string { return []string{"cpu", "memory"} }

const interval = 10 * time.Second

// input returns what an object follows from, whose scores are not measured any more for a reason.
func input(now time.Time, seen map[string]Sighting, reason string, stored *clusterv1alpha1.AddOnPlacementScore) Input {
	return Input{
		Names: names(), Interval: interval, Threshold: 2, Now: now, Seen: seen, Stored: stored,
		Explain: func(name string) (string, string) { return reason, name },
	}
}

// store returns an object as the API server keeps what was planned.
func store(status *clusterv1alpha1.AddOnPlacementScoreStatus) *clusterv1alpha1.AddOnPlacementScore {
	return &clusterv1alpha1.AddOnPlacementScore{Status: *status.DeepCopy()}
}

func values(status *clusterv1alpha1.AddOnPlacementScoreStatus) map[string]int32 {
	if status == nil {
		return nil
	}
	out := map[string]int32{}
	for _, item := range status.Scores {
		out[item.Name] = item.Value
	}
	return out
}

func TestWhatIsWrittenAndWhen(t *testing.T) {
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	first := Plan(input(begin, map[string]Sighting{"cpu": {10, begin}, "memory": {20, begin}}, "", nil))
	if diff := cmp.Diff(map[string]int32{"cpu": 10, "memory": 20}, values(first)); diff != "" {
		t.Fatalf("the first write (-want +got):\n%s", diff)
	}
	if !first.ValidUntil.Time.Equal(at(30)) {
		t.Errorf("valid until %s, want three intervals, %s", first.ValidUntil, at(30))
	}
	for sentence, test := range map[string]struct {
		now, cpu, cpuAt, memory, memoryAt int
		stale                             string // why scores are not measured any more
		want                              map[string]int32
		reason                            string
	}{
		"nothing moved":                 {10, 10, 10, 20, 10, ReasonClusterMissing, nil, ""},
		"less than the threshold moved": {10, 10, 10, 21, 10, ReasonClusterMissing, nil, ""},
		"the threshold moved": {
			10, 10, 10, 18, 10, ReasonClusterMissing,
			map[string]int32{"cpu": 10, "memory": 18},
			ReasonMeasured,
		},
		"half of the validity has passed": {
			20, 10, 20, 21, 20, ReasonClusterMissing,
			map[string]int32{"cpu": 10, "memory": 20},
			ReasonMeasured,
		},
		"one query failed": {15, 10, 0, 20, 0, ReasonSourceFailed, nil, ""},
		"queries fail for longer": {
			16, 10, 0, 20, 0, ReasonSourceFailed,
			map[string]int32{"cpu": 10, "memory": 20},
			ReasonSourceFailed,
		},
		"the cluster is missing in a result": {
			20, 10, 20, 20, 0, ReasonClusterMissing,
			map[string]int32{"cpu": 10, "memory": 20},
			ReasonClusterMissing,
		},
		"one score has run out":               {30, 10, 30, 20, 0, ReasonClusterMissing, map[string]int32{"cpu": 10}, ReasonMeasured},
		"all scores have run out":             {30, 10, 0, 20, 0, ReasonSourceFailed, nil, ""},
		"all scores have run out for an hour": {3600, 10, 0, 20, 0, ReasonSourceFailed, nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := map[string]Sighting{"cpu": {int32(test.cpu), at(test.cpuAt)}, "memory": {int32(test.memory), at(test.memoryAt)}}
			got := Plan(input(at(test.now), seen, test.stale, store(first)))
			if diff := cmp.Diff(test.want, values(got)); diff != "" {
				t.Fatalf("scores (-want +got):\n%s", diff)
			}
			if got != nil && got.Conditions[0].Reason != test.reason {
				t.Errorf("the condition is %+v, want the reason %s", got.Conditions[0], test.reason)
			}
		})
	}
}

// TestADeadSourceLetsScoresRunOut plays ten minutes with a source that dies: one write reports it, and the validity never grows.
func TestADeadSourceLetsScoresRunOut(t *testing.T) {
	seen := map[string]Sighting{"cpu": {10, begin}, "memory": {20, begin}}
	stored := store(Plan(input(begin, seen, "", nil)))
	writes := 0
	for second := range 600 {
		now := begin.Add(time.Duration(second) * time.Second)
		if status := Plan(input(now, seen, ReasonSourceFailed, stored)); status != nil {
			writes++
			stored = store(status)
		}
	}
	if want := begin.Add(30 * time.Second); writes != 1 || !stored.Status.ValidUntil.Time.Equal(want) {
		t.Errorf("%d writes, valid until %s; want one, and %s", writes, stored.Status.ValidUntil, want)
	}
}

// TestScoresStayValidWhileOneOfTwoSourcesIsDead plays a source that dies beside another that responds: the object never runs out, and the
// dead score leaves it.
func TestScoresStayValidWhileOneOfTwoSourcesIsDead(t *testing.T) {
	var stored *clusterv1alpha1.AddOnPlacementScore
	for second := range 120 {
		now := begin.Add(time.Duration(second) * time.Second)
		seen := map[string]Sighting{"cpu": {10, now.Truncate(10 * time.Second)}, "memory": {20, begin}}
		if status := Plan(input(now, seen, ReasonSourceFailed, stored)); status != nil {
			stored = store(status)
		}
		if !now.Before(stored.Status.ValidUntil.Time) {
			t.Fatalf("after %d s the object has run out", second)
		}
	}
	if diff := cmp.Diff(map[string]int32{"cpu": 10}, values(&stored.Status)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// TestNoiseIsWrittenOnceInHalfAValidity plays ten minutes of values that move less than the threshold.
func TestNoiseIsWrittenOnceInHalfAValidity(t *testing.T) {
	var stored *clusterv1alpha1.AddOnPlacementScore
	writes := 0
	for query := range 60 {
		now := begin.Add(time.Duration(query) * 10 * time.Second)
		seen := map[string]Sighting{"cpu": {int32(10 + query%2), now}}
		if status := Plan(input(now, seen, "", stored)); status != nil {
			writes++
			stored = store(status)
		}
		if got := values(&stored.Status)["cpu"]; got != 10 {
			t.Fatalf("after %d queries the score is %d: noise moves placements", query, got)
		}
	}
	if writes != 30 {
		t.Errorf("%d writes in 60 queries, want one in every second", writes)
	}
}

// TestNoiseOfOneScoreIsNotWrittenWithAnother moves one score by the threshold and the other by less. A score that drifts is written when it
// is away from the stored one by the threshold. A score that has run out is written as it is measured.
func TestNoiseOfOneScoreIsNotWrittenWithAnother(t *testing.T) {
	stored := store(Plan(input(begin, map[string]Sighting{"cpu": {10, begin}, "memory": {20, begin}}, "", nil)))
	for _, step := range []struct {
		seconds     int
		cpu, memory int32
		want        map[string]int32
	}{
		{10, 15, 21, map[string]int32{"cpu": 15, "memory": 20}},
		{20, 16, 22, map[string]int32{"cpu": 15, "memory": 22}},
		{30, 17, 21, map[string]int32{"cpu": 17, "memory": 22}},
		{90, 16, 21, map[string]int32{"cpu": 16, "memory": 21}},
	} {
		now := begin.Add(time.Duration(step.seconds) * time.Second)
		status := Plan(input(now, map[string]Sighting{"cpu": {step.cpu, now}, "memory": {step.memory, now}}, "", stored))
		if diff := cmp.Diff(step.want, values(status)); diff != "" {
			t.Fatalf("after %d s (-want +got):\n%s", step.seconds, diff)
		}
		stored = store(status)
	}
}

func TestARestartRemembersTheValidity(t *testing.T) {
	until := metav1.NewTime(begin.Add(30 * time.Second))
	stored := &clusterv1alpha1.AddOnPlacementScore{Status: clusterv1alpha1.AddOnPlacementScoreStatus{
		ValidUntil: &until,
		Scores:     []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "cpu", Value: 20}, {Name: "of another provider", Value: 1}},
	}}
	got := map[string]Sighting{}
	Recall(names(), interval, stored, got)
	if len(got) != 1 || got["cpu"] != (Sighting{20, begin}) {
		t.Errorf("recalled %+v, want cpu with 20 at %s", got, begin)
	}
	if got := Plan(input(begin.Add(time.Minute), got, "", stored)); got != nil {
		t.Errorf("a score that has run out is written: %+v", got)
	}
}

// TestAValidityOfBeforeEndsEarlier restarts a provider with a shorter interval, or with a clock that was set back: what is stored must not
// count for longer than a measurement of now, and a value without a measurement must not count as new.
func TestAValidityOfBeforeEndsEarlier(t *testing.T) {
	until := metav1.NewTime(begin.Add(3 * time.Hour))
	stored := &clusterv1alpha1.AddOnPlacementScore{Status: clusterv1alpha1.AddOnPlacementScoreStatus{
		ValidUntil: &until, Conditions: []metav1.Condition{{Type: ConditionCurrent, Status: metav1.ConditionTrue, Reason: ReasonMeasured}},
		Scores: []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "cpu", Value: 20}, {Name: "memory", Value: 40}},
	}}
	seen := map[string]Sighting{}
	Recall(names(), interval, stored, seen)
	if got := Plan(input(begin, seen, "", stored)); got != nil {
		t.Errorf("scores of which none was measured are written: %+v", got)
	}
	seen["cpu"] = Sighting{20, begin}
	got := Plan(input(begin, seen, "", stored))
	if diff := cmp.Diff(map[string]int32{"cpu": 20}, values(got)); diff != "" {
		t.Fatalf("after cpu is measured (-want +got):\n%s", diff)
	}
	seen["memory"] = Sighting{40, begin}
	got = Plan(input(begin, seen, "", stored))
	if got == nil || !got.ValidUntil.Time.Equal(begin.Add(Validity(interval))) {
		t.Errorf("with steady scores the plan is %+v, want a validity until %s", got, begin.Add(Validity(interval)))
	}
}
