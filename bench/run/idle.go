package run

import (
	"context"
	"fmt"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
)

// singlePlacements is how many placements are measured one by one.
const singlePlacements = 200

// measureIdle measures the time to decide one placement on an idle hub, beside the same writes in sequence.
func measureIdle(ctx context.Context, t *hubRun) ([]bench.Figure, error) {
	before, err := t.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	m, err := t.measureSingle(ctx, t.takeSpares(singlePlacements))
	if err != nil {
		return nil, err
	}
	after, err := t.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	out := m.decided.ratios("decided, beside the same writes", m.open)
	out = append(out, m.total.ratios("stored and decided, beside the same writes", m.open)...)
	return append(out, after.since(before).figures(singlePlacements)...), nil
}

// latencies are times that were measured alternately.
type latencies struct {
	// decided is the time from the response to the creation of a placement until its decision. total starts at the request.
	decided, total sample
	// open is the same writes, in sequence, by a plain client on the open side.
	open sample
}

// measureSingle stores placements one by one, waits for each decision, and writes the same on the open side.
func (p *hubPair) measureSingle(ctx context.Context, placements []*clusterv1beta1.Placement) (latencies, error) {
	var out latencies
	follower, err := p.managed.watchDecisions(ctx)
	if err != nil {
		return out, err
	}
	defer follower.stop()
	for _, placement := range placements {
		if err := p.decideOne(ctx, follower, placement, &out); err != nil {
			return out, err
		}
		if err := p.copyOne(ctx, placement, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (p *hubPair) decideOne(ctx context.Context, follower *decisionWatcher, placement *clusterv1beta1.Placement, m *latencies) error {
	began := time.Now()
	if err := p.managed.admin.Create(ctx, placement.DeepCopy()); err != nil {
		return fmt.Errorf("storing a placement: %w", err)
	}
	stored := time.Now()
	if err := follower.awaitDecided(ctx, placement); err != nil {
		return err
	}
	m.decided, m.total = append(m.decided, time.Since(stored)), append(m.total, time.Since(began))
	return nil
}

func (p *hubPair) copyOne(ctx context.Context, placement *clusterv1beta1.Placement, m *latencies) error {
	made, err := p.managed.decision(ctx, placement)
	if err != nil {
		return err
	}
	created, err := made.createPlacement(ctx, p.open.admin)
	if err != nil {
		return err
	}
	return m.open.time(func() error { return made.copyDecision(ctx, p.open.admin, created) })
}
