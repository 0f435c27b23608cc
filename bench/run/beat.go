package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

const (
	// leastBeats is how many heartbeats there are at least: CPU times are read in hundredths of a second.
	leastBeats = 5000
	// probes is how many placements are measured one by one while heartbeats arrive at one rate, probeRound how many before the
	// other side has its turn.
	probes, probeRound = 200, 100
)

// agents are those who report the clusters of a side.
type agents struct {
	clients  []client.Client
	clusters []*clusterv1.ManagedCluster
	// beats is how many heartbeats were stored.
	beats atomic.Int64
}

func newAgents(s *side, clusters []*clusterv1.ManagedCluster) (*agents, error) {
	clients, err := s.clients()
	return &agents{clients: clients, clusters: clusters}, err
}

// beat stores the n-th heartbeat: a condition says when it was seen last, and else nothing is new.
func (a *agents) beat(ctx context.Context, hand, n int) error {
	cluster := a.clusters[n%len(a.clusters)]
	conditions := slices.Clone(cluster.Status.Conditions)
	for i := range conditions {
		conditions[i].Message = fmt.Sprintf("beat %d", n)
	}
	if err := patchStatus(ctx, a.clients[hand], &clusterv1.ManagedCluster{ObjectMeta: named(cluster)}, map[string]any{"conditions": conditions}); err != nil {
		return fmt.Errorf("storing a heartbeat: %w", err)
	}
	a.beats.Add(1)
	return nil
}

// patchStatus changes fields of a status.
func patchStatus(ctx context.Context, to client.Client, object client.Object, fields map[string]any) error {
	data, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return fmt.Errorf("writing a patch: %w", err)
	}
	return to.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}

// measureBeat measures what heartbeats cost a manager, and those who ask it for something meanwhile.
func measureBeat(ctx context.Context, t *tale) ([]bench.Figure, error) {
	managed, err := newAgents(t.managed, t.clusters)
	if err != nil {
		return nil, err
	}
	open, err := newAgents(t.open, t.clusters)
	if err != nil {
		return nil, err
	}
	out, err := t.beatAll(ctx, managed)
	if err != nil {
		return nil, err
	}
	for _, rate := range []int{20, 200} {
		t.say("%d placements at %d heartbeats a second", probes, rate)
		figures, err := t.probe(ctx, rate, managed, open)
		if err != nil {
			return nil, err
		}
		out = append(out, figures...)
	}
	return out, nil
}

// beatAll measures a heartbeat of every cluster, beside a process that reads clusters and does nothing with them.
func (t *tale) beatAll(ctx context.Context, agents *agents) ([]bench.Figure, error) {
	reader, err := t.managed.hub.StartReader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	beats := max(leastBeats, len(t.clusters))
	before, err := t.managed.watched(ctx, reader)
	if err != nil {
		return nil, err
	}
	if err := inParallel(ctx, beats, agents.beat); err != nil {
		return nil, err
	}
	if err := t.managed.idle(ctx); err != nil {
		return nil, err
	}
	after, err := t.managed.watched(ctx, reader)
	if err != nil {
		return nil, err
	}
	used := after.since(before.spent)
	each := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(beats) }
	writes := count(used.requests, func(r hub.Request) bool { return r.Group == clusterv1.GroupName || r.Resource == "events" })
	whole, reading := each(used.manager), each(after.reader.CPU-before.reader.CPU)
	return []bench.Figure{
		{Name: "writes after a heartbeat of every cluster", Unit: bench.Requests, Value: writes - float64(beats), From: fmt.Sprintf("%d heartbeats", beats)},
		{Name: "evaluations after a heartbeat of every cluster", Unit: bench.Requests, Value: after.evaluations - before.evaluations},
		{
			Name: "CPU per heartbeat beyond decoding", Unit: bench.Micros, Value: whole - reading,
			From: fmt.Sprintf("%s of the manager, %s of a reader", bench.Format(whole, bench.Micros), bench.Format(reading, bench.Micros)),
		},
	}, nil
}

// watchedUse is what a side has used, with a reader beside its manager.
type watchedUse struct {
	spent
	reader hub.Usage
}

func (s *side) watched(ctx context.Context, reader *hub.Process) (watchedUse, error) {
	used, err := s.spent(ctx)
	if err != nil {
		return watchedUse{}, err
	}
	read, err := reader.Usage()
	return watchedUse{used, read}, err
}

// probe measures placements one by one while heartbeats arrive, and the same writes in sequence on the open side under the same
// load, by turns.
func (t *tale) probe(ctx context.Context, rate int, managed, open *agents) ([]bench.Figure, error) {
	var m moments
	under, beside := load{agents: managed, rate: rate}, load{agents: open, rate: rate}
	for round := range slices.Chunk(t.take(probes), probeRound) {
		if err := t.probeDecided(ctx, &under, round, &m); err != nil {
			return nil, err
		}
		copied := func() error {
			return inTurn(round, func(p *clusterv1beta1.Placement) error { return t.copyOne(ctx, p, &m) })
		}
		if err := beside.during(ctx, copied); err != nil {
			return nil, err
		}
	}
	out := m.decided.beside(fmt.Sprintf("decided at %d heartbeats a second, beside the same writes", rate), m.raw)
	return append(out,
		bench.Figure{Name: fmt.Sprintf("heartbeats stored of %d a second", rate), Unit: bench.PerSecond, Value: under.perSecond()},
		bench.Figure{Name: fmt.Sprintf("heartbeats stored of %d a second, beside the same writes", rate), Unit: bench.PerSecond, Value: beside.perSecond()},
	), nil
}

func (t *tale) probeDecided(ctx context.Context, under *load, placements []*clusterv1beta1.Placement, m *moments) error {
	follower, err := t.managed.follow(ctx)
	if err != nil {
		return err
	}
	defer follower.stop()
	return under.during(ctx, func() error {
		return inTurn(placements, func(p *clusterv1beta1.Placement) error { return t.decideOne(ctx, follower, p, m) })
	})
}

// inTurn does something to one after the other until that fails.
func inTurn[T any](of []T, do func(T) error) error {
	for _, one := range of {
		if err := do(one); err != nil {
			return err
		}
	}
	return nil
}

// load is heartbeats at a steady rate.
type load struct {
	*agents
	rate int
	// stored is how many heartbeats were stored so far, lasted how long they arrived.
	stored int64
	lasted time.Duration
}

// during does something while heartbeats arrive.
func (l *load) during(ctx context.Context, do func() error) error {
	began, before := time.Now(), l.beats.Load()
	stop := steadily(ctx, l.rate, l.beat)
	err := errors.Join(do(), stop())
	l.lasted += time.Since(began)
	l.stored += l.beats.Load() - before
	return err
}

// perSecond is how many heartbeats the machine stored a second: fewer than asked for where it has no time for more.
func (l *load) perSecond() float64 { return float64(l.stored) / l.lasted.Seconds() }
