package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

// batches is how many batches of placements are created. The other side stores its copies between them.
const batches = 8

// measureCold measures how fast many new placements are decided, beside the write limit: as many plain clients write the same
// objects without a manager.
func measureCold(ctx context.Context, t *hubRun) ([]bench.Figure, error) {
	var used usage
	var limit time.Duration
	for wave := range slices.Chunk(t.created, len(t.created)/batches) {
		one, took, err := t.decideBatch(ctx, wave)
		if err != nil {
			return nil, err
		}
		used.add(one)
		limit += took
	}
	stored, err := t.countSlices(ctx)
	if err != nil {
		return nil, err
	}
	objects := len(t.created) + stored
	rate, most := float64(objects)/used.wall.Seconds(), float64(objects)/limit.Seconds()
	out := []bench.Figure{{
		Name: "objects per second, beside the write limit", Unit: bench.Ratio, Value: rate / most,
		Detail: fmt.Sprintf("%s / %s", bench.Format(rate, bench.PerSecond), bench.Format(most, bench.PerSecond)),
	}}
	out = append(out, used.figures(len(t.created))...)
	out = append(out, writesPerPlacement(used.requests, len(t.created), stored)...)
	wrong, err := t.checkDecisions(ctx)
	return append(out, wrong...), err
}

// writesPerPlacement returns the writes of a new placement: three for each slice (create, content, label), one status and one
// event.
func writesPerPlacement(answered hub.Requests, placements, stored int) []bench.Figure {
	writes, events := decisionWrites(answered), eventWrites(answered)
	return []bench.Figure{
		{
			Name: "writes, beside one a placement and three a slice", Unit: bench.Ratio, Value: writes / float64(placements+3*stored),
			Detail: fmt.Sprintf("%.0f for %d placements and %d slices", writes, placements, stored),
		},
		{Name: "events per placement", Unit: bench.Ratio, Value: events / float64(placements), Detail: fmt.Sprintf("%.0f", events)},
	}
}

// decideBatch decides a batch on the managed side and writes the same on the open side. It returns the usage of the managed
// side, and the time of the open side.
func (p *hubPair) decideBatch(ctx context.Context, placements []*clusterv1beta1.Placement) (usage, time.Duration, error) {
	before, err := p.managed.usage(ctx)
	if err != nil {
		return usage{}, 0, err
	}
	took, err := p.managed.decideAll(ctx, placements)
	if err != nil {
		return usage{}, 0, err
	}
	if err := p.managed.awaitIdle(ctx); err != nil { // the manager writes events with a delay
		return usage{}, 0, err
	}
	after, err := p.managed.usage(ctx)
	if err != nil {
		return usage{}, 0, err
	}
	used := after.since(before)
	used.wall = took
	limit, err := p.copyAll(ctx, placements)
	return used, limit, err
}

// decideAll stores placements with many clients, and returns the time until all are decided.
func (m *measuredHub) decideAll(ctx context.Context, placements []*clusterv1beta1.Placement) (time.Duration, error) {
	clients, err := m.clients()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	follower, err := m.watchDecisions(ctx)
	if err != nil {
		return 0, err
	}
	defer follower.stop()
	began := time.Now()
	stored := make(chan error, 1)
	go func() {
		err := inParallel(ctx, len(placements), func(ctx context.Context, hand, i int) error {
			return clients[hand].Create(ctx, placements[i].DeepCopy())
		})
		if err != nil {
			cancel(fmt.Errorf("storing placements: %w", err))
		}
		stored <- err
	}()
	err = follower.awaitDecided(ctx, placements...)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	return took, <-stored
}

// copyAll copies the writes of the manager and its users to the open side with as many clients, and returns the time.
func (p *hubPair) copyAll(ctx context.Context, placements []*clusterv1beta1.Placement) (time.Duration, error) {
	decisions, err := p.managed.decisions(ctx, placements)
	if err != nil {
		return 0, err
	}
	clients, err := p.open.clients()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = inParallel(ctx, len(decisions), func(ctx context.Context, hand, i int) error {
		placement, err := decisions[i].createPlacement(ctx, clients[hand])
		if err != nil {
			return err
		}
		if err := decisions[i].copyDecision(ctx, clients[hand], placement); err != nil {
			return err
		}
		return decisions[i].copyEvents(ctx, clients[hand])
	})
	return time.Since(began), err
}

// countSlices counts the stored slices.
func (p *hubPair) countSlices(ctx context.Context) (int, error) {
	var stored clusterv1beta1.PlacementDecisionList
	if err := p.open.admin.List(ctx, &stored); err != nil {
		return 0, fmt.Errorf("counting slices: %w", err)
	}
	return len(stored.Items), nil
}
