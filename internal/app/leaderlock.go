package app

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// ErrLeaseLost is what ends a manager that led and does so no more.
var ErrLeaseLost = errors.New("the lease of the manager is lost")

// leaderLock is the lock of a manager, and knows when the manager may lead no more: where another holder has the lease, which the
// elector waits out; where the lease was not renewed in time, also while the elector waits for a request; and before the
// elector releases it. The elector calls it from one goroutine.
type leaderLock struct {
	resourcelock.Interface

	// onLost ends the term, and end frees what it holds.
	onLost, close func()
	clock         clock.WithDelayedExecution
	// validity is for how long the lease is held after it was renewed.
	validity time.Duration
	// expiry ends the term; nil until the manager holds the lease.
	expiry  clock.Timer
	leading bool
}

// newLeaderLock returns a lock for a manager and the context to run it in, which ends with ctx and with the term. Lost ends with
// the term alone: a manager that is told to stop may finish what it does.
func newLeaderLock(
	ctx context.Context, lock resourcelock.Interface, options Options, clock clock.WithDelayedExecution,
) (running context.Context, out *leaderLock, lost context.Context) {
	running, stop := context.WithCancel(ctx)
	lost, lose := context.WithCancel(context.WithoutCancel(ctx))
	out = &leaderLock{Interface: lock, clock: clock, validity: min(options.RenewDeadline+options.RetryPeriod, options.LeaseDuration)}
	out.onLost = func() {
		if ctx.Err() == nil { // else the manager is stopping, and releases the lease last
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

// Get returns who holds the lease.
func (t *leaderLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := t.Interface.Get(ctx)
	if err == nil && t.leading && record.HolderIdentity != "" && record.HolderIdentity != t.Identity() {
		t.onLost()
	}
	return record, raw, err //nolint:wrapcheck // the elector compares it
}

// Create takes a lease that does not exist.
func (t *leaderLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return t.renew(func() error { return t.Interface.Create(ctx, record) })
}

// Update takes the lease, renews or releases it.
func (t *leaderLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != t.Identity() {
		t.onLost()
		return t.Interface.Update(ctx, record) //nolint:wrapcheck // the elector compares it
	}
	return t.renew(func() error { return t.Interface.Update(ctx, record) })
}

// RecordEvent is called by the elector once the manager leads, and once it leads no more.
func (t *leaderLock) RecordEvent(event string) {
	if t.leading {
		t.onLost()
	}
	t.leading = true
	t.Interface.RecordEvent(event)
}

// renew sends a request that renews the lease. It is held from when the request was sent.
func (t *leaderLock) renew(send func() error) error {
	sent := t.clock.Now()
	if err := send(); err != nil {
		return err
	}
	left := t.validity - t.clock.Since(sent)
	if t.expiry == nil {
		t.expiry = t.clock.AfterFunc(left, t.onLost)
	} else {
		t.expiry.Reset(left)
	}
	return nil
}
