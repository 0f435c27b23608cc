package manager

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// fakeLock is a lease with a holder, or a lease whose requests fail.
type fakeLock struct {
	resourcelock.Interface

	clock   *clocktesting.FakeClock
	holder  string
	failing bool
	// latency is the duration of a request.
	latency time.Duration
	// during is called while a request is served; nil for nothing.
	during func(ctx context.Context)
}

var errBoom = errors.New("boom")

func (*fakeLock) Identity() string   { return "me" }
func (*fakeLock) RecordEvent(string) {}

func (l *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, nil
}

func (l *fakeLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *fakeLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.during != nil {
		l.during(ctx)
	}
	l.clock.SetTime(l.clock.Now().Add(l.latency)) // fires no timers
	if l.failing {
		return errBoom
	}
	l.holder = record.HolderIdentity
	return nil
}

// TestALeaderEndsBeforeAnotherMayLead checks that a leader ends and sends no request as soon as another manager may lead, and not
// earlier.
func TestALeaderEndsBeforeAnotherMayLead(t *testing.T) {
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	options := DefaultOptions() // the lease is valid for 12 seconds
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = 15*time.Second, 10*time.Second, 2*time.Second
	for name, tc := range map[string]struct {
		play func(ctx context.Context, stop func(), lock *fakeLock, term *leaderLock)
		lost bool
	}{
		"another manager leads": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			lock.holder = "other"
			_, _, _ = term.Get(ctx)
		}, false},
		"the manager leads": {func(ctx context.Context, _ func(), _ *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			_, _, _ = term.Get(ctx)
		}, false},
		"another manager has taken the lease": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			lock.holder = "other"
			_, _, _ = term.Get(ctx)
		}, true},
		"the lease has no holder": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			lock.holder = ""
			_, _, _ = term.Get(ctx)
		}, false},
		"the lease is renewed in time": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			for range 10 {
				lock.clock.Step(11 * time.Second)
				_ = term.Update(ctx, mine)
			}
		}, false},
		"the lease is not renewed in time": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			lock.clock.Step(11 * time.Second)
			lock.failing = true
			_ = term.Update(ctx, mine)
			lock.clock.Step(time.Second)
		}, true},
		"a slow renewal leaves too little time": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			lock.latency = 8 * time.Second
			_ = term.Update(ctx, mine)
			lock.clock.Step(4 * time.Second)
		}, true},
		"the lease is released after failed renewals": {func(ctx context.Context, _ func(), lock *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			lock.failing = true
			_ = term.Update(ctx, resourcelock.LeaderElectionRecord{})
		}, true},
		"the elector has ended": {func(ctx context.Context, _ func(), _ *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			term.RecordEvent("stopped leading")
		}, true},
		"the manager is stopped": {func(ctx context.Context, stop func(), _ *fakeLock, term *leaderLock) {
			_ = term.Create(ctx, mine)
			term.RecordEvent("became leader")
			stop()
			_ = term.Update(ctx, resourcelock.LeaderElectionRecord{})
			term.RecordEvent("stopped leading")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(0, 0))
			lock := &fakeLock{clock: clock}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			running, term, lost := newLeaderLock(ctx, lock, options, clock)
			defer term.close()
			tc.play(ctx, stop, lock, term)
			if got := lost.Err() != nil; got != tc.lost {
				t.Errorf("lost %v, want %v", got, tc.lost)
			}
			if stopped := running.Err() != nil; stopped != (tc.lost || ctx.Err() != nil) {
				t.Errorf("the manager has ended: %v, with the lease lost: %v", stopped, tc.lost)
			}
		})
	}
}

// TestAStopCutsNoRenewal checks that a renewal that is under way goes on for a second, and that none begins after the stop.
func TestAStopCutsNoRenewal(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	ctx, stop := context.WithCancel(t.Context())
	lock := &fakeLock{clock: clock, during: func(request context.Context) {
		stop()
		for !clock.HasWaiters() { // the stop is noticed by another goroutine
			runtime.Gosched()
		}
		if request.Err() != nil {
			t.Error("the stop cut a renewal")
		}
		clock.Step(finishTime)
		select {
		case <-request.Done():
		case <-time.After(10 * time.Second):
			t.Error("a renewal goes on without an end")
		}
	}}
	_, term, _ := newLeaderLock(ctx, lock, DefaultOptions(), clock)
	defer term.close()
	if err := term.Update(ctx, mine); err != nil {
		t.Fatal(err)
	}
	lock.during = func(request context.Context) {
		if request.Err() == nil {
			t.Error("a renewal began after the stop")
		}
	}
	_ = term.Update(ctx, mine)
}
