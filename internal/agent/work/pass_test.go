package work

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/work/plan"
)

// TestAStageWaitsOnce ends passes whose stages are blocked, with a minute between them.
func TestAStageWaitsOnce(t *testing.T) {
	start := time.Unix(1e6, 0)
	first, second := plan.Stage{Rank: 1, Removing: true}, plan.Stage{Rank: 2, Removing: true}
	clock := testclock.NewFakeClock(start)
	p := &pass{controller: &Controller{Clock: clock}, state: newState()}
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	for n, each := range []struct {
		step plan.Step
		want map[plan.Stage]time.Time
	}{
		{plan.Step{Wait: &plan.Wait{Stage: first}, Blocked: []plan.Stage{first}}, map[plan.Stage]time.Time{first: minute(0)}},
		{plan.Step{Blocked: []plan.Stage{first}}, map[plan.Stage]time.Time{first: minute(0)}}, // the wait is over, the objects are there
		{
			plan.Step{Wait: &plan.Wait{Stage: second}, Blocked: []plan.Stage{first, second}},
			map[plan.Stage]time.Time{first: minute(0), second: minute(2)},
		},
		{plan.Step{Blocked: []plan.Stage{second}}, map[plan.Stage]time.Time{second: minute(2)}},
		{plan.Step{}, map[plan.Stage]time.Time{}},
	} {
		p.waits(each.step)
		if diff := cmp.Diff(each.want, p.state.since); diff != "" {
			t.Errorf("after pass %d (-want +got):\n%s", n, diff)
		}
		clock.Step(time.Minute)
	}
}
