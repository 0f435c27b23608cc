package workcleanup

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
	finished := func(ago time.Duration, ttl int64) *workv1.ManifestWork {
		out := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 2, Finalizers: []string{workv1.ManifestWorkFinalizer}}}
		out.Spec.DeleteOption = &workv1.DeleteOption{TTLSecondsAfterFinished: &ttl}
		out.Status.Conditions = []metav1.Condition{{
			Type: workv1.WorkComplete, Status: metav1.ConditionTrue, ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		}}
		return out
	}
	deleted := func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{Time: now.Add(-timeout)} }
	for sentence, test := range map[string]struct {
		work   *workv1.ManifestWork
		change func(*workv1.ManifestWork)
		gone   time.Duration
		want   action
		after  time.Duration
	}{
		"finished long ago":                 {work: finished(time.Hour, 60), want: remove},
		"finished a moment ago":             {work: finished(10*time.Second, 60), after: 50 * time.Second},
		"a time to live of zero":            {work: finished(0, 0), want: remove},
		"a negative time to live":           {work: finished(0, -5), want: remove},
		"an endless time to live":           {work: finished(0, math.MaxInt64), after: maxTTL},
		"finished in another generation":    {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.Generation = 3 }},
		"not finished":                      {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.Status.Conditions[0].Status = metav1.ConditionFalse }},
		"without a time to live":            {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.Spec.DeleteOption = nil }},
		"of a set":                          {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.Labels = map[string]string{workv1.ReplicaSetLabel: "a.b"} }},
		"of a set, without its label":       {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.Annotations = map[string]string{workv1.OwnerUIDAnnotation: "u"} }},
		"of a cluster that is gone":         {work: finished(time.Second, 60), gone: timeout, after: 59 * time.Second},
		"deleted":                           {work: finished(time.Hour, 60), change: deleted},
		"deleted, and the cluster is gone":  {work: finished(time.Hour, 60), change: deleted, gone: timeout, want: release},
		"deleted a moment ago, no cluster":  {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{Time: now} }, gone: timeout, after: timeout},
		"deleted, no cluster since lately":  {work: finished(time.Hour, 60), change: deleted, gone: time.Minute, after: timeout - time.Minute},
		"deleted, without the finalizer":    {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { deleted(w); w.Finalizers = []string{"other"} }, gone: timeout},
		"deleted, of a set, and no cluster": {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { deleted(w); w.Labels = map[string]string{workv1.ReplicaSetLabel: "a.b"} }, gone: timeout, want: release},
	} {
		t.Run(sentence, func(t *testing.T) {
			if test.change != nil {
				test.change(test.work)
			}
			missing := time.Time{}
			if test.gone > 0 {
				missing = now.Add(-test.gone)
			}
			if got, after := makePlan(test.work, missing, timeout, now); got != test.want || after != test.after {
				t.Errorf("makePlan = %d, %s, want %d, %s", got, after, test.want, test.after)
			}
		})
	}
}

func TestWithoutATimeoutNoWorkIsReleased(t *testing.T) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}, Finalizers: []string{workv1.ManifestWorkFinalizer}}}
	work.DeletionTimestamp.Time = time.Unix(1, 0)
	if got, after := makePlan(work, time.Unix(1, 0), 0, time.Unix(1e9, 0)); got != keep || after != 0 {
		t.Errorf("makePlan = %d, %s", got, after)
	}
}

// TestMissingIsCountedFromTheFirstLook: a cluster that comes back is not missing, and old entries are dropped.
func TestMissingIsCountedFromTheFirstLook(t *testing.T) {
	m := missing{since: map[string]time.Time{}, keep: time.Hour}
	start := time.Unix(1e6, 0)
	if got := m.look("a", false, start); !got.Equal(start) {
		t.Errorf("the first look returns %s", got)
	}
	if got := m.look("a", false, start.Add(time.Minute)); !got.Equal(start) {
		t.Errorf("the second look returns %s", got)
	}
	if got := m.look("a", true, start.Add(time.Minute)); !got.IsZero() {
		t.Errorf("a cluster that exists is missing since %s", got)
	}
	if got := m.look("a", false, start.Add(2*time.Minute)); !got.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("after its return it is missing since %s", got)
	}
	m.look("b", false, start.Add(2*time.Hour))
	if len(m.since) != 1 {
		t.Errorf("old entries are kept: %v", m.since)
	}
}
