// Package score decides what a provider of AddOnPlacementScores stores, and when.
//
// It owns the arithmetic of scores, the condition of their objects, and the rule by which noise is not written. It reads and writes
// nothing. The invariants: a score is from -100 to 100; a value that is not measured any more extends no validity and runs out; a stored
// value that counts changes only by the threshold or more, and a write without such a change comes after half of the validity.
package score

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

// Condition of the objects of providers, and its reasons.
const (
	ConditionCurrent     = "ScoresCurrent"
	ReasonMeasured       = "Measured"
	ReasonSourceFailed   = "SourceFailed"
	ReasonClusterMissing = "ClusterMissing"
)

// DefaultThreshold is the smallest change of a score that is written, where no other is set.
const DefaultThreshold = 2

const (
	best, worst = 100, -100
	// validIntervals is how many intervals a value counts after its measurement.
	validIntervals = 3
)

// Validity returns how long a value counts after its measurement.
func Validity(interval time.Duration) time.Duration { return validIntervals * interval }

// Finite reports whether a number is neither NaN nor infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Normalize returns the score of a value: -100 at low and below, 100 at high and above, linear and cut to a whole number between. NaN and
// infinite values have none.
func Normalize(value, low, high float64) (score int32, ok bool) {
	if !Finite(value) {
		return 0, false
	}
	switch {
	case value >= high:
		return best, true
	case value <= low:
		return worst, true
	default:
		// Halves, because a range may exceed the largest number.
		return int32((best-worst)*((value/2-low/2)/(high/2-low/2)) + worst), true
	}
}

// Sighting is the last value of a score of a cluster.
type Sighting struct {
	Value int32
	// At is the time of the measurement.
	At time.Time
}

// Input is what one object of one cluster follows from.
type Input struct {
	// Names are the scores of the provider in the object. They are measured together.
	Names []string
	// Interval is the time between two measurements.
	Interval time.Duration
	// Threshold is the smallest change of a value that is written.
	Threshold int32
	Now       time.Time
	// Seen are the last values by score.
	Seen map[string]Sighting
	// Explain returns why a score is not measured any more, for the condition.
	Explain func(name string) (reason, message string)
	// Stored is what the cluster has; nil without an object.
	Stored *clusterv1alpha1.AddOnPlacementScore
}

// Plan returns the status to store; nil where the stored one stays. A score that has run out leaves the object while others of it are
// measured. Where all have, the object stays as it is: its validity has ended.
func Plan(in Input) *clusterv1alpha1.AddOnPlacementScoreStatus {
	want := clusterv1alpha1.AddOnPlacementScoreStatus{}
	var stale []string
	var newest time.Time
	for _, name := range in.Names {
		last, ok := in.Seen[name]
		if !ok || last.At.After(in.Now) || !in.Now.Before(last.At.Add(Validity(in.Interval))) {
			continue // it has run out, or the clock was set back
		}
		want.Scores = append(want.Scores, clusterv1alpha1.AddOnPlacementScoreItem{Name: name, Value: in.steady(name, last.Value)})
		if in.Now.Sub(last.At) > in.Interval+in.Interval/2 {
			stale = append(stale, name)
		}
		if last.At.After(newest) {
			newest = last.At
		}
	}
	if len(want.Scores) == 0 {
		return nil
	}
	slices.SortFunc(want.Scores, func(a, b clusterv1alpha1.AddOnPlacementScoreItem) int { return strings.Compare(a.Name, b.Name) })
	want.ValidUntil = &metav1.Time{Time: newest.Add(Validity(in.Interval)).Truncate(time.Second)}
	want.Conditions = []metav1.Condition{in.condition(stale)}
	if in.mustWrite(&want) {
		return &want
	}
	return nil
}

// steady returns the stored value of a score where it counts and the measured one is near, so that noise ranks no cluster anew.
func (i *Input) steady(name string, measured int32) int32 {
	if i.Stored == nil || i.Stored.Status.ValidUntil == nil || !i.Now.Before(i.Stored.Status.ValidUntil.Time) {
		return measured
	}
	for _, item := range i.Stored.Status.Scores {
		if item.Name == name && abs(item.Value-measured) < i.Threshold {
			return item.Value
		}
	}
	return measured
}

// condition reports whether the scores follow what they measure.
func (i *Input) condition(stale []string) metav1.Condition {
	out := metav1.Condition{
		Type: ConditionCurrent, Status: metav1.ConditionTrue, Reason: ReasonMeasured,
		Message: "Each score was measured within its interval.",
	}
	if len(stale) > 0 {
		out.Status = metav1.ConditionFalse
		out.Reason, out.Message = i.Explain(stale[0])
	}
	out.LastTransitionTime = metav1.NewTime(i.Now.Truncate(time.Second))
	if i.Stored != nil {
		if before := meta.FindStatusCondition(i.Stored.Status.Conditions, ConditionCurrent); before != nil && before.Status == out.Status {
			out.LastTransitionTime = before.LastTransitionTime
		}
	}
	return out
}

// mustWrite returns whether a status is news: a score that is new, gone, or moved by the threshold; another condition; half of the validity
// has passed and a later one is known; or the stored one lasts longer than a measurement of now, by a longer interval or a clock of before.
func (i *Input) mustWrite(want *clusterv1alpha1.AddOnPlacementScoreStatus) bool {
	if i.Stored == nil {
		return true
	}
	stored := i.Stored.Status
	before := meta.FindStatusCondition(stored.Conditions, ConditionCurrent)
	if before == nil || before.Status != want.Conditions[0].Status || before.Reason != want.Conditions[0].Reason || stored.ValidUntil == nil {
		return true
	}
	values := map[string]int32{}
	for _, item := range stored.Scores {
		values[item.Name] = item.Value
	}
	known := 0
	for _, item := range want.Scores {
		value, ok := values[item.Name]
		if !ok || item.Value != value {
			return true
		}
		known++
	}
	if known != i.ownScores(stored.Scores) {
		return true
	}
	if stored.ValidUntil.After(i.Now.Add(Validity(i.Interval) + time.Second)) {
		return true
	}
	half := Validity(i.Interval) / 2
	return !i.Now.Before(stored.ValidUntil.Add(-half)) && want.ValidUntil.After(stored.ValidUntil.Time)
}

// ownScores counts the scores of the provider among those of an object. Others belong to another client.
func (i *Input) ownScores(items []clusterv1alpha1.AddOnPlacementScoreItem) int {
	out := 0
	for _, item := range items {
		if slices.Contains(i.Names, item.Name) {
			out++
		}
	}
	return out
}

func abs(v int32) int32 { return max(v, -v) }

// Recall adds the last values as an object has them, for a provider that has just started. The time of each measurement is not stored, so
// each counts as measured when the validity began. With a shorter interval than before that may be in the future, and such a value counts
// for nothing until it is measured.
func Recall(names []string, interval time.Duration, stored *clusterv1alpha1.AddOnPlacementScore, into map[string]Sighting) {
	if stored == nil || stored.Status.ValidUntil == nil {
		return
	}
	for _, item := range stored.Status.Scores {
		if slices.Contains(names, item.Name) {
			into[item.Name] = Sighting{Value: item.Value, At: stored.Status.ValidUntil.Add(-Validity(interval))}
		}
	}
}
