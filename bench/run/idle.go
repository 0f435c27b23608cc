package run

import (
	"context"
	"fmt"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/generate"
)

const (
	// settledPlacements are decided before the first one is measured.
	settledPlacements = 1000
	// singles is how many placements are measured one by one.
	singles = 200
)

// idle measures how soon one placement is decided where nothing else happens.
func idle() Run {
	return Run{
		Name:    "idle",
		About:   "one placement on an idle hub of a thousand clusters and a thousand placements, beside three writes in sequence",
		Measure: measureIdle,
	}
}

func measureIdle(ctx context.Context, s Setting) ([]bench.Figure, error) {
	s.say("idle: starting two hubs with 1000 clusters")
	p, err := newPair(ctx, s, generate.Shape{Clusters: 1000, Placements: settledPlacements + singles, Seed: 3})
	if err != nil {
		return nil, err
	}
	defer p.stop()
	all := p.fleet.Placements
	p.fleet.Placements = all[:settledPlacements]
	s.say("idle: deciding %d placements", settledPlacements)
	if _, err := p.managed.decideAll(ctx, p.fleet.Placements); err != nil {
		return nil, err
	}
	if _, err := p.copyAll(ctx, p.fleet.Placements); err != nil {
		return nil, err
	}
	if err := p.managed.idle(ctx); err != nil {
		return nil, err
	}
	s.say("idle: %d placements, one by one", singles)
	before, err := p.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	m, err := p.single(ctx, all[settledPlacements:])
	if err != nil {
		return nil, err
	}
	after, err := p.managed.spent(ctx)
	if err != nil {
		return nil, err
	}
	out := m.decided.beside("decided, beside three writes", m.raw)
	out = append(out, m.whole.beside("stored and decided, beside three writes", m.raw)...)
	return append(out, after.since(before).figures("for one by one", singles)...), nil
}

// moments is how long things took that were measured by turns.
type moments struct {
	// decided is from the answer to whoever stored a placement until it is decided, whole from his request on.
	decided, whole sample
	// raw is the same three writes, in sequence, by a plain client on the open side.
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
		made, err := p.managed.decision(ctx, placement)
		if err != nil {
			return out, err
		}
		asked, err := made.ask(ctx, p.open.admin)
		if err != nil {
			return out, err
		}
		if err := out.raw.timed(func() error { return made.answer(ctx, p.open.admin, asked) }); err != nil {
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
