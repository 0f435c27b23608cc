package run

import (
	"context"
	"fmt"

	"github.com/berth-project/berth/bench"
)

// measureWorksRestart measures a manager that starts on settled works, beside a process that only reads the same objects. What both use
// on a hub without works does not count.
func measureWorksRestart(ctx context.Context, w *works) ([]bench.Figure, error) {
	w.managed.manager.Stop()
	if err := w.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	before, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	if w.managed.manager, err = w.managed.hub.StartManager(ctx, deliveryFlag); err != nil {
		return nil, err
	}
	if err := w.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	used, err := w.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	read, err := w.managed.measureReader(ctx)
	if err != nil {
		return nil, err
	}
	cpu, decoding := used.manager.CPU.Seconds()-w.emptyCPU, read.CPU.Seconds()-w.emptyReader
	out := []bench.Figure{
		{Name: "writes of works", Unit: bench.Requests, Value: workWrites(used.requests.Since(before))},
		{
			Name: "CPU, beside decoding", Unit: bench.Ratio, Value: cpu / decoding,
			Detail: fmt.Sprintf("%.2f s of the manager, %.2f s of a reader, without what each needs on an empty hub", cpu, decoding),
		},
		{Name: "peak of the manager's memory", Unit: bench.MiB, Value: mib(used.manager.Peak)},
	}
	if !w.measuresMemory() {
		return out, nil
	}
	settled, _, err := w.managed.stableMemory(ctx)
	if err != nil {
		return nil, err
	}
	perTenThousand := 10_000 / float64(len(w.clusters)*len(w.sets))
	return append(out, bench.Figure{
		Name: "memory of 10,000 works", Unit: bench.MiB, Value: mib(settled-w.emptyMemory) * perTenThousand,
		Detail: fmt.Sprintf("%.0f MiB with the works, %.0f MiB without", mib(settled), mib(w.emptyMemory)),
	}), nil
}
