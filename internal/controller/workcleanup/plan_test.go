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
		gone   bool
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
		"of a cluster that is gone":         {work: finished(time.Second, 60), gone: true, after: 59 * time.Second},
		"deleted":                           {work: finished(time.Hour, 60), change: deleted},
		"deleted, and the cluster is gone":  {work: finished(time.Hour, 60), change: deleted, gone: true, want: release},
		"deleted a moment ago, no cluster":  {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{Time: now} }, gone: true, after: timeout},
		"deleted, without the finalizer":    {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { deleted(w); w.Finalizers = []string{"other"} }, gone: true},
		"deleted, of a set, and no cluster": {work: finished(time.Hour, 60), change: func(w *workv1.ManifestWork) { deleted(w); w.Labels = map[string]string{workv1.ReplicaSetLabel: "a.b"} }, gone: true, want: release},
	} {
		t.Run(sentence, func(t *testing.T) {
			if test.change != nil {
				test.change(test.work)
			}
			if got, after := makePlan(test.work, !test.gone, timeout, now); got != test.want || after != test.after {
				t.Errorf("makePlan = %d, %s, want %d, %s", got, after, test.want, test.after)
			}
		})
	}
}

func TestWithoutATimeoutNoWorkIsReleased(t *testing.T) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}, Finalizers: []string{workv1.ManifestWorkFinalizer}}}
	work.DeletionTimestamp.Time = time.Unix(1, 0)
	if got, after := makePlan(work, false, 0, time.Unix(1e9, 0)); got != keep || after != 0 {
		t.Errorf("makePlan = %d, %s", got, after)
	}
}
