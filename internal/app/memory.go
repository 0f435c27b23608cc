package app

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
// and the Go runtime returns the difference only in part.
func (a *managerBuilder) addMemory() error {
	err := a.mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-clock.RealClock{}.After(startTime):
			debug.FreeOSMemory()
		case <-ctx.Done():
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("adding the return of memory: %w", err)
	}
	return nil
}
