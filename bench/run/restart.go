package run

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

// measureRestart measures a manager that starts on a settled hub, beside a process that only reads the same objects.
func measureRestart(ctx context.Context, t *hubRun) ([]bench.Figure, error) {
	t.managed.manager.Stop()
	if err := t.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	_, drifted, err := t.readHub(ctx)
	if err != nil {
		return nil, err
	}
	written, after, err := t.managed.restartManager(ctx, len(t.created))
	if err != nil {
		return nil, err
	}
	read, err := t.managed.measureReader(ctx)
	if err != nil {
		return nil, err
	}
	beyond := (after.manager.CPU - read.CPU).Seconds()
	return []bench.Figure{
		{
			Name: "decisions written beyond those that had drifted", Unit: bench.Requests,
			Value: written - float64(drifted.writes), Detail: fmt.Sprintf("%d had", drifted.writes),
		},
		{
			Name: "CPU beyond decoding", Unit: bench.Seconds, Value: beyond,
			Detail: fmt.Sprintf("%.2f s of the manager, %.2f s of a reader", after.manager.CPU.Seconds(), read.CPU.Seconds()),
		},
		{Name: "evaluations", Unit: bench.Requests, Value: after.evaluations},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(after.manager.Peak)},
	}, nil
}

// restartManager starts a manager, and returns once it has evaluated a number of placements and is idle. It returns the writes
// to decisions, and the usage.
func (m *measuredHub) restartManager(ctx context.Context, placements int) (written float64, used usageSnapshot, err error) {
	before, err := m.hub.Requests(ctx)
	if err != nil {
		return 0, used, err
	}
	if m.manager, err = m.hub.StartManager(ctx, atOnce()...); err != nil {
		return 0, used, err
	}
	if err := errors.Join(m.awaitEvaluated(ctx, placements), m.awaitIdle(ctx)); err != nil {
		return 0, used, err
	}
	used, err = m.usage(ctx)
	return decisionWrites(used.requests.Since(before)), used, err
}

// measureReader returns the usage of reading everything.
func (m *measuredHub) measureReader(ctx context.Context) (hub.Usage, error) {
	reader, err := m.hub.StartReader(ctx)
	if err != nil {
		return hub.Usage{}, err
	}
	defer reader.Stop()
	return reader.Usage()
}

// awaitEvaluated waits until a manager has evaluated a number of placements. It then leads, and has read everything.
func (m *measuredHub) awaitEvaluated(ctx context.Context, placements int) error {
	err := wait.PollUntilContextTimeout(ctx, idlePeriod, idleTimeout, true, func(ctx context.Context) (bool, error) {
		metrics, err := m.manager.Metrics(ctx)
		return metrics.Sum(evaluated) >= float64(placements), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager to evaluate every placement: %w", err)
	}
	return nil
}
