//go:build slow

package availability

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestManagersAreReplacedUnderLoad replaces both managers as a rolling update does, and then kills the leader. No request that should pass
// is refused or lost, and no decision is lost, doubled or moved. It prints the figures of docs/operations/availability.md.
func TestManagersAreReplacedUnderLoad(t *testing.T) {
	i := newInstallation(t)
	i.watchLease()
	running := []*replica{i.start(), i.start()}
	i.awaitReview()
	i.createFleet()
	l := i.startLoad()
	l.awaitMore(2 * admissions)

	begun := l.totals()
	for range running {
		leader := leaderFirst(t, running)
		before := i.leases.last()
		running = append(running, i.start())
		stopped := time.Now()
		i.stop(leader)
		replaced := i.awaitNext(before).Sub(stopped)
		decided := l.awaitDecision(i.leases.last().since).Sub(stopped)
		t.Logf("FIGURE leader stopped: another holds the lease after %s, and has decided after %s", replaced.Round(leasePeriod),
			decided.Round(leasePeriod))
		if replaced > stoppedBound {
			t.Errorf("a leader that stopped is replaced after %s, want at most %s", replaced, stoppedBound)
		}
		running = except(running, leader)
		l.awaitMore(3 * admissions)
	}
	after := l.totals()
	t.Logf("FIGURE rolling update: %d requests admitted, %d refused, %d changes, %d retried", after.admitted-begun.admitted,
		after.refused-begun.refused, after.changed-begun.changed, after.retried-begun.retried)
	if after.retried != begun.retried {
		t.Errorf("%d requests of the rolling update needed another attempt, want none", after.retried-begun.retried)
	}

	leader := leaderFirst(t, running)
	before := i.leases.last()
	killed := time.Now()
	leader.Kill()
	replaced := i.awaitNext(before).Sub(killed)
	decided := l.awaitDecision(i.leases.last().since).Sub(killed)
	i.balancer.remove(leader.WebhookAddress)
	l.awaitMore(3 * admissions)
	l.End()
	final := l.totals()
	t.Logf("FIGURE leader killed: another holds the lease after %s, and has decided after %s", replaced.Round(leasePeriod),
		decided.Round(leasePeriod))
	t.Logf("FIGURE leader killed: %d requests admitted, %d refused, %d changes, %d retried", final.admitted-after.admitted,
		final.refused-after.refused, final.changed-after.changed, final.retried-after.retried)
	if replaced > killedBound {
		t.Errorf("a leader that was killed is replaced after %s, want at most %s", replaced, killedBound)
	}
	l.checkFaults(t)
	kit.Await(t, "every placement has its clusters", func(ctx context.Context) error { return i.checkDecided(ctx, l.wanted) })
}

// leaderFirst returns the replica that leads.
func leaderFirst(t *testing.T, running []*replica) (leader *replica) {
	t.Helper()
	kit.Await(t, "a replica leads", func(ctx context.Context) error {
		for _, r := range running {
			if r.leads(ctx, t) {
				leader = r
				return nil
			}
		}
		return errors.New("no replica leads")
	})
	return leader
}

func except(all []*replica, one *replica) []*replica {
	var out []*replica
	for _, r := range all {
		if r != one {
			out = append(out, r)
		}
	}
	return out
}

// awaitDecision waits until a slice is written after an instant, and returns when.
func (l *load) awaitDecision(after time.Time) (decided time.Time) {
	l.t.Helper()
	kit.Await(l.t, "a decision is made after an instant", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if decided = l.decided; decided.Before(after) {
			return errors.New("nothing is decided")
		}
		return nil
	})
	return decided
}
