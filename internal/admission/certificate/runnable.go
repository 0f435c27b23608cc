package certificate

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// everyReplica is a runnable that does not need leader election.
type everyReplica func(context.Context) error

// Start implements manager.Runnable.
func (e everyReplica) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everyReplica) NeedLeaderElection() bool { return false }

// addRunnables runs follow on every replica, and lead on the leader.
func addRunnables(mgr manager.Manager, follow, lead func(context.Context) error) error {
	for _, runnable := range []manager.Runnable{everyReplica(follow), manager.RunnableFunc(lead)} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding the certificate: %w", err)
		}
	}
	return nil
}

// sleep waits. It returns false when ctx has ended.
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
