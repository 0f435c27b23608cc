package score

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
)

// Condition of the objects that the controller writes, and its reasons.
const (
	ConditionCurrent     = "ScoresCurrent"
	ReasonMeasured       = "Measured"
	ReasonSourceFailed   = "SourceFailed"
	ReasonClusterMissing = "ClusterMissing"
)

// sighting is the last value of a score of a cluster.
type sighting struct {
	value int32
	// at is the time of the query.
	at time.Time
}

// input is what one object of one cluster follows from.
type input struct {
	// scores are those of the object, which have one interval.
	scores []*Query
	// threshold is the smallest change that is written at once.
	threshold int32
	now       time.Time
	// seen are the last values by score.
	seen map[string]sighting
	// failures are why the last queries of scores failed, by score.
	failures map[string]string
	// stored is what the cluster has; nil without an object.
	stored *clusterv1alpha1.AddOnPlacementScore
}

// plan returns the status to store; nil where the stored one stays. A score that has run out leaves the object while others of it are
// measured. Where all have, the object stays as it is: its validity has ended.
func plan(in input) *clusterv1alpha1.AddOnPlacementScoreStatus {
	want := clusterv1alpha1.AddOnPlacementScoreStatus{}
	var stale []*Query
	var newest time.Time
	interval := in.scores[0].Interval.Duration
	for _, q := range in.scores {
		last, ok := in.seen[q.Name]
		if !ok || !in.now.Before(last.at.Add(q.validity())) {
			continue
		}
		want.Scores = append(want.Scores, clusterv1alpha1.AddOnPlacementScoreItem{Name: q.Name, Value: last.value})
		if in.now.Sub(last.at) > interval+interval/2 {
			stale = append(stale, q)
		}
		if last.at.After(newest) {
			newest = last.at
		}
	}
	if len(want.Scores) == 0 {
		return nil
	}
	slices.SortFunc(want.Scores, func(a, b clusterv1alpha1.AddOnPlacementScoreItem) int { return strings.Compare(a.Name, b.Name) })
	want.ValidUntil = &metav1.Time{Time: newest.Add(in.scores[0].validity()).Truncate(time.Second)}
	want.Conditions = []metav1.Condition{in.condition(stale)}
	if in.mustWrite(&want) {
		return &want
	}
	return nil
}

// condition reports whether the scores follow their sources.
func (in *input) condition(stale []*Query) metav1.Condition {
	out := metav1.Condition{Type: ConditionCurrent, Status: metav1.ConditionTrue, Reason: ReasonMeasured, Message: "Each score was measured within its interval."}
	if len(stale) > 0 {
		q := stale[0]
		out.Status, out.Reason = metav1.ConditionFalse, ReasonClusterMissing
		out.Message = fmt.Sprintf("The query of %s has no value of this cluster any more. The last one counts until it has run out.", q.Name)
		if failure, failed := in.failures[q.Name]; failed {
			out.Reason = ReasonSourceFailed
			out.Message = fmt.Sprintf("The query of %s fails, and the last value counts until it has run out: %s", q.Name, failure)
		}
	}
	out.LastTransitionTime = metav1.NewTime(in.now.Truncate(time.Second))
	if in.stored != nil {
		if before := meta.FindStatusCondition(in.stored.Status.Conditions, ConditionCurrent); before != nil && before.Status == out.Status {
			out.LastTransitionTime = before.LastTransitionTime
		}
	}
	return out
}

// mustWrite returns whether a status is news: a score that is new, gone, or moved by the threshold; another condition; or half of the
// validity has passed and a later one is known.
func (in *input) mustWrite(want *clusterv1alpha1.AddOnPlacementScoreStatus) bool {
	if in.stored == nil {
		return true
	}
	stored := in.stored.Status
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
		if !ok || abs(item.Value-value) >= in.threshold {
			return true
		}
		known++
	}
	if known != in.ownScores(stored.Scores) {
		return true
	}
	half := in.scores[0].validity() / 2
	return !in.now.Before(stored.ValidUntil.Add(-half)) && want.ValidUntil.After(stored.ValidUntil.Time)
}

// ownScores counts the scores of the controller among those of an object. Others belong to another client.
func (in *input) ownScores(items []clusterv1alpha1.AddOnPlacementScoreItem) int {
	out := 0
	for _, item := range items {
		if slices.ContainsFunc(in.scores, func(q *Query) bool { return q.Name == item.Name }) {
			out++
		}
	}
	return out
}

func abs(v int32) int32 { return max(v, -v) }

// recall adds the last values as an object has them, for a controller that has just started. The time of each query is not stored, so
// each counts as measured when the validity began.
func recall(scores []*Query, stored *clusterv1alpha1.AddOnPlacementScore, into map[string]sighting) {
	if stored == nil || stored.Status.ValidUntil == nil {
		return
	}
	for _, item := range stored.Status.Scores {
		at := slices.IndexFunc(scores, func(q *Query) bool { return q.Name == item.Name })
		if at >= 0 {
			into[item.Name] = sighting{value: item.Value, at: stored.Status.ValidUntil.Add(-scores[at].validity())}
		}
	}
}
