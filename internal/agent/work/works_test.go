package work

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/queue"
)

func TestSettledWorksComeLast(t *testing.T) {
	applied := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: workv1.WorkApplied, Status: status, ObservedGeneration: generation}}
	}
	deleted := metav1.NewTime(time.Unix(1, 0))
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		deleted    *metav1.Time
		want       queue.Priority
	}{
		"a new work":                        {nil, nil, queue.News},
		"an applied work":                   {applied(metav1.ConditionTrue, 2), nil, queue.Routine},
		"an applied work that changed":      {applied(metav1.ConditionTrue, 1), nil, queue.News},
		"a work that failed":                {applied(metav1.ConditionFalse, 2), nil, queue.News},
		"an applied work that goes":         {applied(metav1.ConditionTrue, 2), &deleted, queue.News},
		"a work without an applied version": {applied(metav1.ConditionTrue, 0), nil, queue.News},
	} {
		t.Run(name, func(t *testing.T) {
			work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 2, DeletionTimestamp: tc.deleted}}
			work.Status.Conditions = tc.conditions
			if got := firstLook(work); got != tc.want {
				t.Errorf("priority %d, want %d", got, tc.want)
			}
		})
	}
}

// TestTheFirstListOfAWatchDelaysNoNewWork lists an object of a work that no pass has looked at, as at a start, and an object that changed.
func TestTheFirstListOfAWatchDelaysNoNewWork(t *testing.T) {
	id := object.ID{Resource: "configmaps", Namespace: "n", Name: "o"}
	for name, tc := range map[string]struct {
		versions map[object.ID]string
		want     []string
	}{
		"an object that was not read":  {map[object.ID]string{}, []string{"new", "settled"}},
		"an object that was changed":   {map[object.ID]string{id: "1"}, []string{"settled", "new"}},
		"an object that was just read": {map[object.ID]string{id: "2"}, []string{"new"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakeClock(time.Unix(1, 0))
			settled := newState()
			settled.wants, settled.versions = map[object.ID]string{id: "hash"}, tc.versions
			c := &Controller{queue: queue.New(clock), states: map[string]*state{"settled": settled}}
			c.references.set("settled", settled.wants, nil)
			c.touched(id, "2")
			clock.Step(settleTime)
			c.queue.Add("new", queue.News, 0)
			c.queue.Add("end", queue.Routine, 0)
			ctx, cancel := context.WithCancel(t.Context())
			var got []string
			c.queue.Run(ctx, 1, func(_ context.Context, name string) {
				if name == "end" {
					cancel()
					return
				}
				got = append(got, name)
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}
