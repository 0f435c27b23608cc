package manager

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// ErrLeaseLost ends a leader that lost its lease.
var ErrLeaseLost = errors.New("the lease of the manager is lost")

// finishTime is how long a request for the lease may go on when the manager stops, or when its deadline is over.
const finishTime = time.Second

// leaderLock is the lock of a manager. It ends the manager when the manager may no longer lead: another holder has
// the lease, or the lease was not renewed in time, even during a request. It also ends the manager before it releases the
// lease. The elector calls it from one goroutine.
type leaderLock struct {
	resourcelock.Interface

	// onLost ends the manager, and close frees its resources.
	onLost, close func()
	clock         clock.WithDelayedExecution
	// validity is how long the lease is held after a renewal.
	validity time.Duration
	// expiry ends the manager; nil until it holds the lease.
	expiry  clock.Timer
	leading bool
}

// newLeaderLock returns a lock for a manager and the context to run it in, which ends with ctx or when the lease is lost.
// lost ends only when the lease is lost: a manager that is stopped may finish its requests.
func newLeaderLock(
	ctx context.Context, lock resourcelock.Interface, options Options, clock clock.WithDelayedExecution,
) (running context.Context, out *leaderLock, lost context.Context) {
	running, stop := context.WithCancel(ctx)
	lost, lose := context.WithCancel(context.WithoutCancel(ctx))
	out = &leaderLock{Interface: lock, clock: clock, validity: min(options.RenewDeadline+options.RetryPeriod, options.LeaseDuration)}
	out.onLost = func() {
		if ctx.Err() == nil { // a stopping manager releases the lease last
			lose()
			stop()
		}
	}
	out.close = func() {
		if out.expiry != nil {
			out.expiry.Stop()
		}
		lose()
		stop()
	}
	return running, out, lost
}

// Get returns the holder of the lease.
func (l *leaderLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := l.whole(ctx)
	defer cancel()
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.leading && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.onLost()
	}
	return record, raw, err //nolint:wrapcheck // the elector compares it
}

// Create creates the lease.
func (l *leaderLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Create(ctx, record) })
}

// Update acquires, renews or releases the lease.
func (l *leaderLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := l.whole(ctx)
	defer cancel()
	if record.HolderIdentity != l.Identity() {
		l.onLost()
		return l.Interface.Update(ctx, record) //nolint:wrapcheck // the elector compares it
	}
	return l.renew(func() error { return l.Interface.Update(ctx, record) })
}

// whole returns the context of a request that outlives ctx by finishTime, so that a stop of the manager cuts no write under way: the API
// server logs an error for each. No request begins once ctx has ended.
func (l *leaderLock) whole(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	keep := context.AfterFunc(ctx, func() { l.clock.AfterFunc(finishTime, cancel) })
	return request, func() {
		keep()
		cancel()
	}
}

// RecordEvent is called by the elector when the manager begins to lead, and when it stops leading.
func (l *leaderLock) RecordEvent(event string) {
	if l.leading {
		l.onLost()
	}
	l.leading = true
	l.Interface.RecordEvent(event)
}

// renew sends a request that renews the lease. The lease is held from the time at which the request was sent.
func (l *leaderLock) renew(send func() error) error {
	sent := l.clock.Now()
	if err := send(); err != nil {
		return err
	}
	left := l.validity - l.clock.Since(sent)
	if l.expiry == nil {
		l.expiry = l.clock.AfterFunc(left, l.onLost)
	} else {
		l.expiry.Reset(left)
	}
	return nil
}
