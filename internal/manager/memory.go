package manager

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// startTime is how long a manager takes to read and decide everything once, with time to spare.
const startTime = time.Minute

// addMemory adds the return of memory to the system. Reading and deciding everything once takes several times of what the manager keeps,
// and the Go runtime returns the difference only in part. A replica reads when it starts, and decides when it leads.
func (m *managerBuilder) addMemory() error {
	for _, leader := range []bool{false, true} {
		if err := m.mgr.Add(memoryReturn{leader: leader}); err != nil {
			return fmt.Errorf("adding the return of memory: %w", err)
		}
	}
	return nil
}

// memoryReturn returns memory once.
type memoryReturn struct{ leader bool }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (m memoryReturn) NeedLeaderElection() bool { return m.leader }

// Start implements manager.Runnable.
func (memoryReturn) Start(ctx context.Context) error {
	select {
	case <-clock.RealClock{}.After(startTime):
		debug.FreeOSMemory()
	case <-ctx.Done():
	}
	return nil
}

var _ manager.LeaderElectionRunnable = memoryReturn{}
