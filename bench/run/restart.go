package run

import (
	"context"
	"fmt"

	"github.com/berth-project/berth/bench"
)

// measureRestart measures what a manager does that finds everything settled, beside a process that reads the same and does
// nothing with it.
func measureRestart(ctx context.Context, t *tale) ([]bench.Figure, error) {
	t.managed.manager.Stop()
	if err := t.managed.idle(ctx); err != nil {
		return nil, err
	}
	answered, err := t.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	if t.managed.manager, err = t.managed.hub.StartManager(ctx); err != nil {
		return nil, err
	}
	if err := t.managed.idle(ctx); err != nil {
		return nil, err
	}
	after, err := t.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	reader, err := t.managed.hub.StartReader(ctx)
	if err != nil {
		return nil, err
	}
	read, err := reader.Usage()
	reader.Stop()
	if err != nil {
		return nil, err
	}
	beyond := (after.manager.CPU - read.CPU).Seconds()
	return []bench.Figure{
		{Name: "decisions written", Unit: bench.Requests, Value: decisionWrites(after.requests.Since(answered))},
		{
			Name: "CPU beyond decoding", Unit: bench.Seconds, Value: beyond,
			From: fmt.Sprintf("%.2f s of the manager, %.2f s of a reader", after.manager.CPU.Seconds(), read.CPU.Seconds()),
		},
		{Name: "evaluations", Unit: bench.Requests, Value: after.evaluations},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(after.manager.Peak)},
	}, nil
}
