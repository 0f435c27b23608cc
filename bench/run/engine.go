package run

import (
	"context"
	"fmt"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/inprocess"
)

// engineRuns measure the engine alone, at sizes beyond a hub of one machine.
func engineRuns() []Run {
	out := make([]Run, 0, len(inprocess.Sizes()))
	for _, size := range inprocess.Sizes() {
		out = append(out, Run{
			Name: "process-" + size.String(),
			About: fmt.Sprintf("every one of %d placements decided over %d clusters, in one process on one processor, beside the oracle",
				size.Placements, size.Clusters),
			Measure: func(ctx context.Context, s Options) ([]bench.Figure, error) {
				return inprocess.Measure(ctx, size, s.Progress)
			},
		})
	}
	return out
}
