package run

import (
	"context"
	"fmt"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
)

// singles is how many placements are measured one by one.
const singles = 200

// measureIdle measures how soon one placement is decided where nothing else happens, beside the same writes in sequence.
func measureIdle(ctx context.Context, t *tale) ([]bench.Figure, error) {
	before, err := t.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	m, err := t.single(ctx, t.take(singles))
	if err != nil {
		return nil, err
	}
	after, err := t.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	out := m.decided.beside("decided, beside the same writes", m.raw)
	out = append(out, m.whole.beside("stored and decided, beside the same writes", m.raw)...)
	return append(out, after.since(before).figures(singles)...), nil
}

// moments is how long things took that were measured by turns.
type moments struct {
	// decided is from the answer to whoever stored a placement until it is decided, whole from his request on.
	decided, whole sample
	// raw is the same writes, in sequence, by a plain client on the open side.
	raw sample
}

// single stores placements one by one, waits for each to be decided, and writes the same on the open side.
func (p *pair) single(ctx context.Context, placements []*clusterv1beta1.Placement) (moments, error) {
	var out moments
	follower, err := p.managed.follow(ctx)
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

func (p *pair) decideOne(ctx context.Context, follower *follower, placement *clusterv1beta1.Placement, m *moments) error {
	began := time.Now()
	if err := p.managed.admin.Create(ctx, placement.DeepCopy()); err != nil {
		return fmt.Errorf("storing a placement: %w", err)
	}
	stored := time.Now()
	if err := follower.awaitDecided(ctx, placement); err != nil {
		return err
	}
	m.decided, m.whole = append(m.decided, time.Since(stored)), append(m.whole, time.Since(began))
	return nil
}

func (p *pair) copyOne(ctx context.Context, placement *clusterv1beta1.Placement, m *moments) error {
	made, err := p.managed.decision(ctx, placement)
	if err != nil {
		return err
	}
	asked, err := made.ask(ctx, p.open.admin)
	if err != nil {
		return err
	}
	return m.raw.timed(func() error { return made.answer(ctx, p.open.admin, asked) })
}
