package run

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/generate"
)

const (
	// soakRate is how many things happen a second, most of them heartbeats.
	soakRate = 20
	// soakTurns is how many things make a round: four of them are changes, at equal distances, and the others heartbeats. A round
	// takes two seconds, since a taint alone can lead to more writes than a small API server makes in one.
	soakTurns = 40
	// soakPoll is how often a reading is taken, soakProbes how many placements are measured for it.
	soakPoll, soakProbes = time.Minute, 10
	// tainted is for how many rounds a cluster stays tainted.
	tainted = 10
	// soakSpares come and go.
	soakSpares = 100
)

// soak lets things happen for a long time, and looks for what grows.
func soak() Run {
	return Run{
		Name:    "soak",
		About:   "mixed events on a hub of a thousand clusters and a thousand placements: what still grows in the last third",
		Measure: measureSoak,
	}
}

// reading is what is seen of a manager at one moment.
type reading struct {
	resident   int64
	goroutines float64
	latency    time.Duration
}

func measureSoak(ctx context.Context, s Setting) ([]bench.Figure, error) {
	f := generate.New(generate.Shape{Clusters: 1000, Placements: 1000 + soakSpares + soakProbes, Scored: scoredPercent, Seed: storySeed})
	s.say("soak: starting a hub with %d clusters", len(f.Clusters))
	managed, err := newSide(ctx, s, f, true)
	if err != nil {
		return nil, err
	}
	defer managed.stop()
	if err := managed.idle(ctx); err != nil {
		return nil, err
	}
	const settled = 1000
	if _, err := managed.decideAll(ctx, f.Placements[:settled]); err != nil {
		return nil, err
	}
	events, err := newMixture(managed, f.Clusters, f.Placements[settled:settled+soakSpares])
	if err != nil {
		return nil, err
	}
	s.say("soak: %d events a second for %s", soakRate, s.Soak)
	stop := steadily(ctx, soakRate, events.turn)
	read, err := managed.readings(ctx, s, f.Placements[settled+soakSpares:])
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return nil, err
	}
	return growth(read), nil
}

// readings takes a reading every so often, for as long as a soak lasts.
func (s *side) readings(ctx context.Context, setting Setting, probes []*clusterv1beta1.Placement) ([]reading, error) {
	follower, err := s.follow(ctx)
	if err != nil {
		return nil, err
	}
	defer follower.stop()
	ticker := time.NewTicker(soakPoll)
	defer ticker.Stop()
	var out []reading
	for range int(setting.Soak / soakPoll) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		next, err := s.look(ctx, follower, probes)
		if err != nil {
			return nil, err
		}
		out = append(out, next)
		setting.say("soak: %d: %.0f MiB, %.0f goroutines, a placement decided in %s", len(out), mib(next.resident), next.goroutines, millis(next.latency))
	}
	return out, nil
}

// look takes a reading. The placements are gone again when it returns.
func (s *side) look(ctx context.Context, follower *follower, probes []*clusterv1beta1.Placement) (reading, error) {
	used, err := s.manager.Usage()
	if err != nil {
		return reading{}, err
	}
	told, err := s.manager.Metrics(ctx)
	if err != nil {
		return reading{}, err
	}
	var took sample
	for _, probe := range probes {
		if err := s.admin.Create(ctx, probe.DeepCopy()); err != nil {
			return reading{}, fmt.Errorf("storing a placement: %w", err)
		}
		if err := took.timed(func() error { return follower.awaitDecided(ctx, probe) }); err != nil {
			return reading{}, err
		}
		if err := s.admin.Delete(ctx, probe.DeepCopy()); err != nil {
			return reading{}, fmt.Errorf("deleting a placement: %w", err)
		}
	}
	return reading{used.Resident, told.Sum("go_goroutines"), took.at(0.5)}, nil
}

// growth is how much more there is in the last third of a soak than in the one before. The first is to get warm: what
// remembers fills until it is as large as it gets.
func growth(read []reading) []bench.Figure {
	third := max(1, len(read)/3)
	last := max(0, len(read)-third)
	before, after := read[max(0, last-third):max(1, last)], read[last:]
	var out []bench.Figure
	for _, of := range []struct {
		name  string
		unit  bench.Unit
		value func(reading) float64
	}{
		{"memory", bench.MiB, func(r reading) float64 { return mib(r.resident) }},
		{"goroutines", bench.Requests, func(r reading) float64 { return r.goroutines }},
		{"a placement, p50", bench.Millis, func(r reading) float64 { return r.latency.Seconds() * 1000 }},
	} {
		was, is := mean(before, of.value), mean(after, of.value)
		out = append(out, bench.Figure{
			Name: of.name + ", last third beside the second", Unit: bench.Ratio, Value: is / was,
			From: fmt.Sprintf("%s / %s", bench.Format(is, of.unit), bench.Format(was, of.unit)),
		})
	}
	return out
}

func mean(of []reading, value func(reading) float64) float64 {
	sum := 0.0
	for _, r := range of {
		sum += value(r)
	}
	return sum / float64(len(of))
}

// mixture is what happens in a soak: clusters are relabelled and tainted and no longer, placements come and go, and
// heartbeats arrive.
type mixture struct {
	*agents
	placements []*clusterv1beta1.Placement
}

func newMixture(s *side, clusters []*clusterv1.ManagedCluster, placements []*clusterv1beta1.Placement) (*mixture, error) {
	agents, err := newAgents(s, clusters)
	return &mixture{agents, placements}, err
}

// turn lets the n-th thing happen.
func (m *mixture) turn(ctx context.Context, hand, n int) error {
	round, to := n/soakTurns, m.clients[hand]
	at := func(round int) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{ObjectMeta: named(m.clusters[round%len(m.clusters)])}
	}
	placement := m.placements[round%len(m.placements)]
	switch n % soakTurns {
	case 0:
		team := m.clusters[round*7%len(m.clusters)].Labels[teamLabel]
		return patch(ctx, to, at(round), map[string]any{"metadata": map[string]any{"labels": map[string]any{teamLabel: team}}})
	case soakTurns / 4:
		taints := []clusterv1.Taint{{Key: taintKey, Effect: clusterv1.TaintEffectNoSelect}}
		return patch(ctx, to, at(round), map[string]any{"spec": map[string]any{"taints": taints}})
	case soakTurns / 2:
		before := at(max(0, round-tainted))
		return patch(ctx, to, before, map[string]any{"spec": map[string]any{"taints": nil}})
	case soakTurns * 3 / 4:
		if round/len(m.placements)%2 == 1 { // they come in one round through all, and go in the next
			return client.IgnoreNotFound(to.Delete(ctx, placement.DeepCopy()))
		}
		return client.IgnoreAlreadyExists(to.Create(ctx, placement.DeepCopy()))
	default:
		return m.beat(ctx, hand, n)
	}
}
