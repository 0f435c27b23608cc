package run

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

const (
	// memoryPoll is the interval of readings until the memory is stable, memoryTimeout their limit. The Go runtime collects
	// garbage every two minutes at least, and returns memory in small steps.
	memoryPoll, memoryTimeout = 5 * time.Second, 4 * time.Minute
	// stableReadings is how many successive readings must be similar, readingTolerance their largest relative difference.
	stableReadings, readingTolerance = 26, 0.03
)

// measureMemory measures the memory of an idle manager.
func measureMemory(ctx context.Context, t *hubRun) ([]bench.Figure, error) {
	settled, took, err := t.managed.stableMemory(ctx)
	if err != nil {
		return nil, err
	}
	used, err := t.managed.manager.Usage()
	if err != nil {
		return nil, err
	}
	return []bench.Figure{
		{Name: "resident, settled", Unit: bench.MiB, Value: mib(settled), Detail: fmt.Sprintf("after %s", took.Round(time.Second))},
		{Name: "peak", Unit: bench.MiB, Value: mib(used.Peak)},
	}, nil
}

// stableMemory returns the memory of the manager once it is stable, or after the timeout.
func (m *measuredHub) stableMemory(ctx context.Context) (bytes int64, took time.Duration, err error) {
	return stableMemory(ctx, m.manager.Process)
}

// stableMemory returns the memory of a process once it is stable, or after the timeout.
func stableMemory(ctx context.Context, of *hub.Process) (bytes int64, took time.Duration, err error) {
	began, first, alike := time.Now(), int64(0), 0
	err = wait.PollUntilContextTimeout(ctx, memoryPoll, memoryTimeout, true, func(context.Context) (bool, error) {
		used, err := of.Usage()
		if err != nil {
			return false, err
		}
		bytes = used.Resident
		if first == 0 || float64(max(bytes, first)-min(bytes, first)) > readingTolerance*float64(first) {
			first, alike = bytes, 0
		}
		alike++
		return alike > stableReadings, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = nil
	}
	return bytes, time.Since(began), err
}
