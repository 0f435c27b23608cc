package run

import (
	"context"
	"fmt"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/process"
)

// processes measure the engine alone, at sizes that no hub of one machine has.
func processes() []Run {
	out := make([]Run, 0, len(process.Sizes()))
	for _, size := range process.Sizes() {
		out = append(out, Run{
			Name:  "process-" + size.String(),
			About: fmt.Sprintf("every one of %d placements decided over %d clusters, in one process on one processor, beside the oracle", size.Placements, size.Clusters),
			Measure: func(ctx context.Context, s Setting) ([]bench.Figure, error) {
				return process.Measure(ctx, size, s.Progress)
			},
		})
	}
	return out
}
