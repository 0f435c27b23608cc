//go:build slow

// Package fleet tests a hub with many agents. The agents run the code of berth-agent in this process, and join with real tokens and
// certificates. Their members are simulated.
//
// The short variant has few agents and short leases. With BERTH_LONG=1 there are 1,000 agents with the default lease, for ten minutes.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// size is the size of a variant.
type size struct {
	agents int
	lease  time.Duration
	// atOnce is how many agents may return within a quarter of a lease.
	atOnce int
	// steady is how long the fleet is observed at rest.
	steady time.Duration
	// timeout is far longer than any wait.
	timeout time.Duration
}

func sizeOf() size {
	if hubtest.LongTests() {
		return size{agents: 1000, lease: time.Minute, atOnce: 750, steady: 10 * time.Minute, timeout: 30 * time.Minute}
	}
	return size{agents: 50, lease: 10 * time.Second, atOnce: 45, steady: 30 * time.Second, timeout: 4 * time.Minute}
}

var errWatchEnded = errors.New("a watch ended")

// TestAFleetOfAgents joins agents with one hub, observes them at rest, and kills and restarts the hub.
func TestAFleetOfAgents(t *testing.T) {
	f := &fleet{t: t, size: sizeOf(), data: t.TempDir()}
	f.startHub()
	f.join()
	f.awaitReported()
	t.Run("no lease is missed, and no placement or agent is woken", func(t *testing.T) { f.atRest(t) })
	t.Run("a restart of the hub spreads the agents and declares no cluster dead", func(t *testing.T) { f.restart(t) })
}

// awaitReported waits until every agent has reported its cluster.
func (f *fleet) awaitReported() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), f.timeout)
	defer cancel()
	kit.NoError(f.t, f.joined.AwaitReported(ctx, f.client(f.t)))
}

// atRest observes the fleet while nothing changes.
func (f *fleet) atRest(t *testing.T) {
	before := f.settled(t)
	seen := f.observe(t, f.steady, nil)
	if after := f.evaluations(t); after != before {
		t.Errorf("%v placements were evaluated while nothing changed", after-before)
	}
	// Heartbeats do not wait behind other requests of agents.
	dispatched := f.hub.ReadMetrics(t).Sum("apiserver_flowcontrol_dispatched_requests_total", `flow_schema="berth-heartbeats"`,
		`priority_level="node-high"`)
	if dispatched < float64(f.agents)*f.steady.Seconds()/f.lease.Seconds() {
		t.Errorf("%v heartbeats had the priority of heartbeats in %s", dispatched, f.steady)
	}
	most := 2 * int(f.steady/f.lease)
	var longest time.Duration
	for _, name := range f.joined.Names() {
		c := seen[name]
		if c == nil {
			t.Errorf("%s: the lease was not renewed in %s", name, f.steady)
			continue
		}
		longest = max(longest, c.longestGap)
		if c.longestGap > 2*f.lease {
			t.Errorf("%s: the lease was not renewed for %s", name, c.longestGap)
		}
		if c.renewals+c.changes > most {
			t.Errorf("%s: %d renewals and %d changes of the ManagedCluster, more than %d", name, c.renewals, c.changes, most)
		}
		if c.changes > 0 {
			t.Errorf("%s: %d changes of the ManagedCluster woke the agent, want none", name, c.changes)
		}
	}
	t.Logf("%d agents in %s: at most %s between renewals", f.agents, f.steady, longest)
}

// settled returns how many placements were evaluated, once that is the same for two seconds.
func (f *fleet) settled(t *testing.T) float64 {
	t.Helper()
	last := f.evaluations(t)
	for end := time.Now().Add(f.timeout); time.Now().Before(end); {
		time.Sleep(2 * time.Second)
		now := f.evaluations(t)
		if now == last {
			return now
		}
		last = now
	}
	t.Fatalf("placements are evaluated all the time, %v so far", last)
	return last
}

// maxRestarts is how often the hub is restarted until its agents return over time. A hub that starts on a busy machine holds requests back,
// and what it held back ends at once. Agents that do not spread return together each time.
const maxRestarts = 3

// restart restarts the hub, and requires that its agents return over a lease, and that no cluster changes.
func (f *fleet) restart(t *testing.T) {
	window, most := f.lease/4, 0
	for range maxRestarts {
		if most = crowded(f.returned(t), window); most <= f.atOnce {
			return
		}
	}
	t.Errorf("after each of %d restarts, the last time %d agents returned within %s, want at most %d", maxRestarts, most, window, f.atOnce)
}

// returned kills the hub, starts it again, and returns when each agent has renewed its lease, in order.
func (f *fleet) returned(t *testing.T) []time.Time {
	t.Helper()
	before := f.health(t)
	f.hub.Kill()
	killed := time.Now()
	f.startHub()
	ready := time.Now()
	renewed := map[string]time.Time{}
	f.observe(t, f.timeout, func(name string, at time.Time) bool {
		if _, known := renewed[name]; !known && at.After(killed) {
			renewed[name] = at
		}
		return len(renewed) == f.agents
	})
	if len(renewed) < f.agents {
		t.Fatalf("%d of %d agents are back after %s", len(renewed), f.agents, f.timeout)
	}
	for name, after := range f.health(t) {
		if after != before[name] {
			t.Errorf("%s was %s before the restart and is %s", name, before[name], after)
		}
	}
	times := slices.SortedFunc(maps.Values(renewed), time.Time.Compare)
	t.Logf("the hub was down for %s; %d agents returned within %s, at most %d of them within %s", ready.Sub(killed).Round(time.Second),
		f.agents, times[len(times)-1].Sub(times[0]).Round(time.Second), crowded(times, f.lease/4), f.lease/4)
	return times
}

// crowded returns the largest number of times within a window. The times are sorted.
func crowded(times []time.Time, window time.Duration) int {
	most := 0
	for i := range times {
		end, _ := slices.BinarySearchFunc(times, times[i].Add(window), time.Time.Compare)
		most = max(most, end-i)
	}
	return most
}

// health returns the state of the condition Available with the time of its last change, and the taints.
func (f *fleet) health(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, cluster := range f.clusters(t) {
		condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
		out[cluster.Name] = fmt.Sprint(condition.Status, " since ", condition.LastTransitionTime, " ", cluster.Spec.Taints)
	}
	return out
}

// observed is what was observed of one cluster.
type observed struct {
	renewals, changes int
	longestGap        time.Duration
	renewed           time.Time
}

// observe watches leases and clusters for a time, or until done returns true for a renewal.
func (f *fleet) observe(t *testing.T, limit time.Duration, done func(name string, at time.Time) bool) map[string]*observed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	leases, clusters := f.watchLeases(ctx, t), f.watch(ctx, t, &clusterv1.ManagedClusterList{})
	out := map[string]*observed{}
	for {
		select {
		case <-ctx.Done():
			return out
		case event, open := <-leases:
			name, at, ok := renewal(event)
			if !open && ctx.Err() == nil {
				t.Fatal(errWatchEnded)
			}
			if !ok {
				continue
			}
			if out[name] == nil {
				out[name] = &observed{}
			}
			out[name].renew(event.Type, at)
			if done != nil && done(name, at) {
				return out
			}
		case event, open := <-clusters:
			if !open && ctx.Err() == nil {
				t.Fatal(errWatchEnded)
			}
			if cluster, ok := event.Object.(client.Object); ok && event.Type == watch.Modified {
				if out[cluster.GetName()] == nil {
					out[cluster.GetName()] = &observed{}
				}
				out[cluster.GetName()].changes++
			}
		}
	}
}

// renew records a lease. The first event of a watch is the stored lease.
func (o *observed) renew(event watch.EventType, at time.Time) {
	if event == watch.Modified {
		o.renewals++
	}
	if !o.renewed.IsZero() {
		o.longestGap = max(o.longestGap, at.Sub(o.renewed))
	}
	o.renewed = at
}
