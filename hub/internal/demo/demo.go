// Package demo shows what Berth does with an example fleet: what it decides and why, and what moves when a cluster is
// taken away and given back.
//
// It owns what is shown and in which order. It refuses to know how a hub is started and how decisions are made: what it
// prints is read off the hub, or off the trace of the engine that decides there. What it prints depends on the examples
// alone, but for times and paths.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/hub/internal/scenario"
)

var errNoPlacement = errors.New("the examples have no Placement, so there is nothing to decide")

// Show plays the steps of a scenario on a hub and prints what comes of it.
func Show(ctx context.Context, out io.Writer, colour bool, config *rest.Config, steps []scenario.Step) error {
	clock := clock.RealClock{}
	hub, err := scenario.Connect(config, clock)
	if err != nil {
		return err
	}
	page := &page{out: out, colour: colour}
	began := clock.Now()
	for _, step := range steps {
		if err := hub.Apply(ctx, step); err != nil {
			return err
		}
	}
	fleet, err := hub.WaitUntilDecided(ctx)
	if err != nil {
		return err
	}
	if len(fleet.Placements) == 0 {
		return errNoPlacement
	}
	page.line("Stored the examples one by one; all is decided after %s.", rounded(clock.Since(began)))
	page.fleet(fleet)
	for _, placement := range fleet.Placements {
		page.placement(placement)
	}
	drill := &drill{hub: hub, clock: clock, page: page}
	return errors.Join(drill.run(ctx, fleet), page.err)
}

// rounded renders a time as a reader cares for it.
func rounded(took time.Duration) string {
	if took < time.Second {
		return fmt.Sprintf("%d ms", took.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", took.Seconds())
}
