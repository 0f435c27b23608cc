package certificate

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// everywhere is a runnable of every replica, whether it leads or not.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// add lets every replica follow, and the leader lead.
func add(mgr manager.Manager, follow, lead func(context.Context) error) error {
	for _, runnable := range []manager.Runnable{everywhere(follow), manager.RunnableFunc(lead)} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding the certificate: %w", err)
		}
	}
	return nil
}

// sleep waits, and says whether to go on.
func sleep(ctx context.Context, clock clock.WithTicker, wait time.Duration) bool {
	if wait == 0 {
		return ctx.Err() == nil
	}
	timer := clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
