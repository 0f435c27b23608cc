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
	// minHeartbeats is the minimal number of heartbeats, because CPU times have a resolution of 10 ms.
	minHeartbeats = 5000
	// probes is how many placements are measured at one rate of heartbeats. probeBatch is how many of them are measured before
	// the sides alternate.
	probes, probeBatch = 200, 100
	// slowHeartbeats and fastHeartbeats are rates per second. fastHeartbeats is the rate of 10,000 clusters with a heartbeat every 50 s.
	slowHeartbeats, fastHeartbeats = 20, 200
	// capacityHeartbeats is how many heartbeats measure the capacity of the machine.
	capacityHeartbeats = 2000
)

// agents report the clusters of a hub.
type agents struct {
	clients  []client.Client
	clusters []*clusterv1.ManagedCluster
	// heartbeats is the number of stored heartbeats.
	heartbeats atomic.Int64
}

func newAgents(s *measuredHub, clusters []*clusterv1.ManagedCluster) (*agents, error) {
	clients, err := s.clients()
	return &agents{clients: clients, clusters: clusters}, err
}

// heartbeat stores the n-th heartbeat: a condition with a new time and the same content.
func (a *agents) heartbeat(ctx context.Context, hand, n int) error {
	cluster := a.clusters[n%len(a.clusters)]
	conditions := slices.Clone(cluster.Status.Conditions)
	for i := range conditions {
		conditions[i].Message = fmt.Sprintf("beat %d", n)
	}
	if err := patchStatus(ctx, a.clients[hand], &clusterv1.ManagedCluster{ObjectMeta: objectName(cluster)},
		map[string]any{"conditions": conditions}); err != nil {
		return fmt.Errorf("storing a heartbeat: %w", err)
	}
	a.heartbeats.Add(1)
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

// measureHeartbeats measures the cost of heartbeats for a manager, and the delay of placements under heartbeats.
func measureHeartbeats(ctx context.Context, t *hubRun) ([]bench.Figure, error) {
	managed, err := newAgents(t.managed, t.clusters)
	if err != nil {
		return nil, err
	}
	open, err := newAgents(t.open, t.clusters)
	if err != nil {
		return nil, err
	}
	out, err := t.heartbeatAll(ctx, managed)
	if err != nil {
		return nil, err
	}
	half, err := halfCapacity(ctx, open)
	if err != nil {
		return nil, err
	}
	for _, rate := range []int{slowHeartbeats, fastHeartbeats} {
		t.logf("%d placements at up to %d heartbeats a second, the machine stores %d", probes, rate, 2*half)
		figures, err := t.measureUnderLoad(ctx, rate, min(rate, half), managed, open)
		if err != nil {
			return nil, err
		}
		out = append(out, figures...)
	}
	return out, nil
}

// heartbeatAll measures a heartbeat of every cluster, beside a process that only reads clusters.
func (h *hubRun) heartbeatAll(ctx context.Context, agents *agents) ([]bench.Figure, error) {
	reader, err := h.managed.hub.StartReader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	beats := max(minHeartbeats, len(h.clusters))
	before, err := h.managed.usageWithReader(ctx, reader)
	if err != nil {
		return nil, err
	}
	if err := inParallel(ctx, beats, agents.heartbeat); err != nil {
		return nil, err
	}
	if err := h.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	after, err := h.managed.usageWithReader(ctx, reader)
	if err != nil {
		return nil, err
	}
	used := after.since(before.usageSnapshot)
	each := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(beats) }
	writes := count(used.requests, func(r hub.Request) bool { return r.Group == clusterv1.GroupName || r.Resource == "events" })
	whole, reading := each(used.manager), each(after.reader.CPU-before.reader.CPU)
	return []bench.Figure{
		{
			Name: "writes after a heartbeat of every cluster", Unit: bench.Requests, Value: writes - float64(beats),
			Detail: fmt.Sprintf("%d heartbeats", beats),
		},
		{Name: "evaluations after a heartbeat of every cluster", Unit: bench.Requests, Value: after.evaluations - before.evaluations},
		{
			Name: "CPU per heartbeat beyond decoding", Unit: bench.Micros, Value: whole - reading,
			Detail: fmt.Sprintf("%s of the manager, %s of a reader", bench.Format(whole, bench.Micros), bench.Format(reading, bench.Micros)),
		},
	}, nil
}

// usageWithReader is the usage of a hub and of a reader beside its manager.
type usageWithReader struct {
	usageSnapshot
	reader hub.Usage
}

func (m *measuredHub) usageWithReader(ctx context.Context, reader *hub.Process) (usageWithReader, error) {
	used, err := m.usage(ctx)
	if err != nil {
		return usageWithReader{}, err
	}
	read, err := reader.Usage()
	return usageWithReader{used, read}, err
}

// halfCapacity returns half of the heartbeats that the hub stores per second. Beyond its capacity, a hub delays every write, and a
// decision waits several times: for its placement, its evaluation and its writes.
func halfCapacity(ctx context.Context, agents *agents) (int, error) {
	began := time.Now()
	if err := inParallel(ctx, capacityHeartbeats, agents.heartbeat); err != nil {
		return 0, err
	}
	return max(1, int(capacityHeartbeats/time.Since(began).Seconds()/2)), nil
}

// measureUnderLoad measures placements one by one while heartbeats arrive at a rate, which the figures call nominal. It alternates
// with the same writes on the open side under the same load.
func (h *hubRun) measureUnderLoad(ctx context.Context, nominal, rate int, managed, open *agents) ([]bench.Figure, error) {
	var m latencies
	under, beside := heartbeatLoad{agents: managed, rate: rate}, heartbeatLoad{agents: open, rate: rate}
	for round := range slices.Chunk(h.takeSpares(probes), probeBatch) {
		if err := h.createUnderLoad(ctx, &under, round, &m); err != nil {
			return nil, err
		}
		copied := func() error {
			return forEach(round, func(p *clusterv1beta1.Placement) error { return h.copyOne(ctx, p, &m) })
		}
		if err := beside.runDuring(ctx, copied); err != nil {
			return nil, err
		}
	}
	load := fmt.Sprintf("%d heartbeats a second", nominal)
	out := m.decided.ratios("decided at "+load+", beside the same writes", m.open)
	sent := fmt.Sprintf("%d sent", rate)
	return append(out,
		bench.Figure{Name: "stored of " + load, Unit: bench.PerSecond, Value: under.perSecond(), Detail: sent},
		bench.Figure{Name: "stored of " + load + ", beside the same writes", Unit: bench.PerSecond, Value: beside.perSecond(), Detail: sent},
	), nil
}

func (h *hubRun) createUnderLoad(ctx context.Context, under *heartbeatLoad, placements []*clusterv1beta1.Placement, m *latencies) error {
	follower, err := h.managed.watchDecisions(ctx)
	if err != nil {
		return err
	}
	defer follower.stop()
	return under.runDuring(ctx, func() error {
		return forEach(placements, func(p *clusterv1beta1.Placement) error { return h.decideOne(ctx, follower, p, m) })
	})
}

// forEach calls do for each item in order, until the first error.
func forEach[T any](of []T, do func(T) error) error {
	for _, one := range of {
		if err := do(one); err != nil {
			return err
		}
	}
	return nil
}

// heartbeatLoad sends heartbeats at a steady rate.
type heartbeatLoad struct {
	*agents
	rate int
	// stored is how many heartbeats were stored so far, lasted how long they arrived.
	stored   int64
	duration time.Duration
}

// runDuring calls do while heartbeats arrive.
func (l *heartbeatLoad) runDuring(ctx context.Context, do func() error) error {
	began, before := time.Now(), l.heartbeats.Load()
	stop := atRate(ctx, l.rate, l.heartbeat)
	err := errors.Join(do(), stop())
	l.duration += time.Since(began)
	l.stored += l.heartbeats.Load() - before
	return err
}

// perSecond is how many heartbeats the machine stored per second.
func (l *heartbeatLoad) perSecond() float64 { return float64(l.stored) / l.duration.Seconds() }
