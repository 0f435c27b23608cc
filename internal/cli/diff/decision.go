package diff

import (
	"context"
	"io"
	"time"

	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
)

// diffPrinter writes what moves in one of the forms.
type diffPrinter = func(w io.Writer, of *change.Report, on printer.Screen) error

// decisionDiff simulates a change of what placements decide from.
func (o *options) decisionDiff(ctx context.Context, proposed *change.Proposal, now time.Time) (*change.Report, error) {
	bundle, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	if o.Offline() && len(bundle.Placements)+len(proposed.Applied.Placements) == 0 {
		return nil, command.ErrNoPlacement
	}
	progress := printer.NewProgress(o.Streams.ErrOut, o.Clock)
	defer progress.Done()
	base := change.NewSimulation(bundle, now, progress)
	base.Stabilize(base.Order)
	next := base.Clone()
	touched, err := next.ApplyChange(proposed)
	if err != nil {
		return nil, err
	}
	next.Stabilize(touched)
	return change.Compare(base, next), nil
}
