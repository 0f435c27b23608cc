package cleanup

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
)

func TestPlan(t *testing.T) {
	const timeout = 10 * time.Minute
	now := time.Unix(1e6, 0)
	finished := func(ttl int64) *workv1.ManifestWork {
		out := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 2, Finalizers: []string{workv1.ManifestWorkFinalizer}}}
		out.Spec.DeleteOption = &workv1.DeleteOption{TTLSecondsAfterFinished: &ttl}
		out.Status.Conditions = []metav1.Condition{{
			// the clock of the member does not count
			Type: workv1.WorkComplete, Status: metav1.ConditionTrue, ObservedGeneration: 2,
			LastTransitionTime: metav1.NewTime(now.Add(1000 * time.Hour)),
		}}
		return out
	}
	deleted := func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{Time: now.Add(-timeout)} }
	for sentence, test := range map[string]struct {
		work   *workv1.ManifestWork
		change func(*workv1.ManifestWork)
		// ago is how long the manager has seen the work complete, gone how long it has seen no cluster.
		ago, gone time.Duration
		want      action
		after     time.Duration
	}{
		"finished long ago":              {ago: time.Hour, work: finished(60), want: remove},
		"finished a moment ago":          {ago: 10 * time.Second, work: finished(60), after: 50 * time.Second},
		"a time to live of zero":         {ago: 0, work: finished(0), want: remove},
		"a negative time to live":        {ago: 0, work: finished(-5), want: remove},
		"an endless time to live":        {ago: 0, work: finished(math.MaxInt64), after: maxTTL},
		"finished in another generation": {ago: time.Hour, work: finished(60), change: func(w *workv1.ManifestWork) { w.Generation = 3 }},
		"not finished": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { w.Status.Conditions[0].Status = metav1.ConditionFalse },
		},
		"without a time to live": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { w.Spec.DeleteOption = nil },
		},
		"of a set": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { w.Labels = map[string]string{workv1.ReplicaSetLabel: "a.b"} },
		},
		"of a set, without its label": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { w.Annotations = map[string]string{workv1.OwnerUIDAnnotation: "u"} },
		},
		"of a cluster that is gone":        {ago: time.Second, work: finished(60), gone: timeout, after: 59 * time.Second},
		"deleted":                          {ago: time.Hour, work: finished(60), change: deleted},
		"deleted, and the cluster is gone": {ago: time.Hour, work: finished(60), change: deleted, gone: timeout, want: release},
		"deleted a moment ago, no cluster": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{Time: now} }, gone: timeout, after: timeout,
		},
		"deleted, no cluster since lately": {
			ago: time.Hour, work: finished(60), change: deleted, gone: time.Minute,
			after: timeout - time.Minute,
		},
		"deleted, without the finalizer": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { deleted(w); w.Finalizers = []string{"other"} }, gone: timeout,
		},
		"deleted, of a set, and no cluster": {
			ago: time.Hour, work: finished(60),
			change: func(w *workv1.ManifestWork) { deleted(w); w.Labels = map[string]string{workv1.ReplicaSetLabel: "a.b"} }, gone: timeout,
			want: release,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if test.change != nil {
				test.change(test.work)
			}
			in := input{work: test.work, timeout: timeout, now: now}
			if test.gone > 0 {
				in.missing = now.Add(-test.gone)
			}
			if finishedAs(test.work) != "" {
				in.finished = now.Add(-test.ago)
			}
			if got, after := makePlan(in); got != test.want || after != test.after {
				t.Errorf("makePlan = %d, %s, want %d, %s", got, after, test.want, test.after)
			}
		})
	}
}

func TestWithoutATimeoutNoWorkIsReleased(t *testing.T) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		DeletionTimestamp: &metav1.Time{},
		Finalizers:        []string{workv1.ManifestWorkFinalizer},
	}}
	work.DeletionTimestamp.Time = time.Unix(1, 0)
	if got, after := makePlan(input{work: work, missing: time.Unix(1, 0), now: time.Unix(1e9, 0)}); got != keep || after != 0 {
		t.Errorf("makePlan = %d, %s", got, after)
	}
}

// TestASightingIsCountedFromTheFirstLook: another state begins another one, no state ends it, and old ones are dropped.
func TestASightingIsCountedFromTheFirstLook(t *testing.T) {
	s := sightings{first: map[string]sighting{}, keep: time.Hour}
	start := time.Unix(1e6, 0)
	for _, step := range []struct {
		name, state   string
		after, counts time.Duration
	}{
		{"a", "missing", 0, 0},
		{"a", "missing", time.Minute, 0},
		{"a", "missing otherwise", 2 * time.Minute, 2 * time.Minute},
		{"a", "missing", 3 * time.Minute, 3 * time.Minute},
		{"b", "missing", 3 * time.Hour, 3 * time.Hour},
	} {
		if got := s.look(step.name, step.state, start.Add(step.after)); !got.Equal(start.Add(step.counts)) {
			t.Errorf("%s is %s since %s, want %s", step.name, step.state, got.Sub(start), step.counts)
		}
	}
	if len(s.first) != 1 {
		t.Errorf("old sightings are kept: %v", s.first)
	}
	if got := s.look("b", "", start.Add(4*time.Hour)); !got.IsZero() || len(s.first) != 0 {
		t.Errorf("a sighting that ended is since %s, kept %v", got, s.first)
	}
}
