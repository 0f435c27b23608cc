package run

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/internal/cli/generate"
)

const (
	// soakRate is the number of changes per second. Most of them are heartbeats.
	soakRate = 20
	// soakRoundSize is the number of writes of a round: four changes at equal distances, and heartbeats. A round takes two
	// seconds, because one taint may cause more writes than a small API server stores in a second.
	soakRoundSize = 40
	// soakPoll is the interval of readings, soakProbes the number of placements that a reading measures.
	soakPoll, soakProbes = time.Minute, 10
	// taintedRounds is how many rounds a cluster stays tainted.
	taintedRounds = 10
	// soakSpares are created and deleted.
	soakSpares = 100
)

// soakRun changes a hub for a long time, and measures growth.
func soakRun() Run {
	return Run{
		Name:    "soak",
		About:   "mixed events on a hub of a thousand clusters and a thousand placements: what still grows in the last third",
		Measure: measureSoak,
	}
}

// soakReading is one reading of a manager.
type soakReading struct {
	resident   int64
	goroutines float64
	latency    time.Duration
}

func measureSoak(ctx context.Context, s Options) ([]bench.Figure, error) {
	f := generate.New(generate.Shape{
		Clusters: 1000, Placements: 1000 + soakSpares + soakProbes, ScoredPercent: scoredPercent,
		Seed: fleetSeed,
	})
	s.logf("soak: starting a hub with %d clusters", len(f.Clusters))
	managed, err := newMeasuredHub(ctx, s, f, true)
	if err != nil {
		return nil, err
	}
	defer managed.stop()
	if err := managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	const settled = 1000
	if _, err := managed.decideAll(ctx, f.Placements[:settled]); err != nil {
		return nil, err
	}
	events, err := newMixedLoad(managed, f.Clusters, f.Placements[settled:settled+soakSpares])
	if err != nil {
		return nil, err
	}
	s.logf("soak: %d events a second for %s", soakRate, s.Soak)
	stop := atRate(ctx, soakRate, events.change)
	read, err := managed.takeReadings(ctx, s, f.Placements[settled+soakSpares:])
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return nil, err
	}
	return growth(read), nil
}

// takeReadings takes a reading in each interval of the soak.
func (m *measuredHub) takeReadings(ctx context.Context, setting Options, probes []*clusterv1beta1.Placement) ([]soakReading, error) {
	follower, err := m.watchDecisions(ctx)
	if err != nil {
		return nil, err
	}
	defer follower.stop()
	ticker := time.NewTicker(soakPoll)
	defer ticker.Stop()
	var out []soakReading
	for range int(setting.Soak / soakPoll) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		next, err := m.takeReading(ctx, follower, probes)
		if err != nil {
			return nil, err
		}
		out = append(out, next)
		setting.logf("soak: %d: %.0f MiB, %.0f goroutines, a placement decided in %s", len(out), mib(next.resident), next.goroutines,
			millis(next.latency))
	}
	return out, nil
}

// takeReading takes a reading. It deletes its placements before it returns.
func (m *measuredHub) takeReading(ctx context.Context, follower *decisionWatcher, probes []*clusterv1beta1.Placement) (soakReading, error) {
	used, err := m.manager.Usage()
	if err != nil {
		return soakReading{}, err
	}
	metrics, err := m.manager.Metrics(ctx)
	if err != nil {
		return soakReading{}, err
	}
	var took sample
	for _, probe := range probes {
		if err := m.admin.Create(ctx, probe.DeepCopy()); err != nil {
			return soakReading{}, fmt.Errorf("storing a placement: %w", err)
		}
		if err := took.time(func() error { return follower.awaitDecided(ctx, probe) }); err != nil {
			return soakReading{}, err
		}
		if err := m.admin.Delete(ctx, probe.DeepCopy()); err != nil {
			return soakReading{}, fmt.Errorf("deleting a placement: %w", err)
		}
	}
	return soakReading{used.Resident, metrics.Sum("go_goroutines"), took.quantile(0.5)}, nil
}

// growth is the ratio of the last third of a soak to the second third. The first third fills the caches.
func growth(read []soakReading) []bench.Figure {
	third := max(1, len(read)/3)
	last := max(0, len(read)-third)
	before, after := read[max(0, last-third):max(1, last)], read[last:]
	var out []bench.Figure
	for _, of := range []struct {
		name  string
		unit  bench.Unit
		value func(soakReading) float64
	}{
		{"memory", bench.MiB, func(r soakReading) float64 { return mib(r.resident) }},
		{"goroutines", bench.Requests, func(r soakReading) float64 { return r.goroutines }},
		{"a placement, p50", bench.Millis, func(r soakReading) float64 { return r.latency.Seconds() * 1000 }},
	} {
		was, is := mean(before, of.value), mean(after, of.value)
		out = append(out, bench.Figure{
			Name: of.name + ", last third beside the second", Unit: bench.Ratio, Value: is / was,
			Detail: fmt.Sprintf("%s / %s", bench.Format(is, of.unit), bench.Format(was, of.unit)),
		})
	}
	return out
}

func mean(of []soakReading, value func(soakReading) float64) float64 {
	sum := 0.0
	for _, r := range of {
		sum += value(r)
	}
	return sum / float64(len(of))
}

// mixedLoad is the load of a soak: labels and taints of clusters change, placements are created and deleted, and heartbeats
// arrive.
type mixedLoad struct {
	*agents
	placements []*clusterv1beta1.Placement
}

func newMixedLoad(s *measuredHub, clusters []*clusterv1.ManagedCluster, placements []*clusterv1beta1.Placement) (*mixedLoad, error) {
	agents, err := newAgents(s, clusters)
	return &mixedLoad{agents, placements}, err
}

// change makes the n-th change.
func (m *mixedLoad) change(ctx context.Context, hand, n int) error {
	round, to := n/soakRoundSize, m.clients[hand]
	at := func(round int) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{ObjectMeta: objectName(m.clusters[round%len(m.clusters)])}
	}
	placement := m.placements[round%len(m.placements)]
	switch n % soakRoundSize {
	case 0:
		team := m.clusters[round*7%len(m.clusters)].Labels[teamLabel]
		return patch(ctx, to, at(round), map[string]any{"metadata": map[string]any{"labels": map[string]any{teamLabel: team}}})
	case soakRoundSize / 4:
		taints := []clusterv1.Taint{{Key: taintKey, Effect: clusterv1.TaintEffectNoSelect}}
		return patch(ctx, to, at(round), map[string]any{"spec": map[string]any{"taints": taints}})
	case soakRoundSize / 2:
		before := at(max(0, round-taintedRounds))
		return patch(ctx, to, before, map[string]any{"spec": map[string]any{"taints": nil}})
	case soakRoundSize * 3 / 4:
		if round/len(m.placements)%2 == 1 { // one pass creates all, the next deletes all
			return client.IgnoreNotFound(to.Delete(ctx, placement.DeepCopy()))
		}
		return client.IgnoreAlreadyExists(to.Create(ctx, placement.DeepCopy()))
	default:
		return m.heartbeat(ctx, hand, n)
	}
}
