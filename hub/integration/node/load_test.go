//go:build slow

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// admissions and changes are how many requests a second the load has, of each kind.
	admissions, changes = 50, 20
	// senders bounds the concurrent requests of each kind.
	senders = 16
	// busyPlacements is how many placements change in turn.
	busyPlacements = 20
	// steadyPlacement is the placement that nothing changes.
	steadyPlacement = "steady"
	// inventory is how many clusters there are without an agent.
	inventory      = 20
	requestTimeout = 20 * time.Second
	// repeatAfter is when a client sends a request again, repeats how often.
	repeatAfter, repeats = 2 * time.Second, 5
)

// load sends requests that pass the webhooks, and changes of placements, at a constant rate. Meanwhile it reads a placement that nothing
// changes.
type load struct {
	*hubtest.Load

	c *cluster
	// steady are the clusters of the placement that nothing changes.
	steady []string

	mu sync.Mutex
	// moved are reads of that placement with other clusters.
	moved []string
}

// startLoad starts the load. It ends with stop, or with the test.
func (c *cluster) startLoad() *load {
	c.t.Helper()
	out := &load{c: c, Load: hubtest.NewLoad(c.t, hubtest.LoadOptions{
		InFlight: senders, Timeout: requestTimeout, Repeats: repeats,
		Pause: repeatAfter,
	})}
	c.createPlacement(steadyPlacement)
	for i := range busyPlacements {
		c.createPlacement(busyName(i))
	}
	c.await("decisions before the load", func(ctx context.Context) error {
		if out.steady = c.selected(ctx); len(out.steady) != inventory+1 {
			return fmt.Errorf("%d clusters are selected: %w", len(out.steady), errNotYet)
		}
		return nil
	})
	out.Send(admissions, out.admit)
	out.Send(changes, out.change)
	out.Run(out.watch)
	return out
}

// createPlacement stores a placement that selects every cluster, also those without an agent.
func (c *cluster) createPlacement(name string) {
	c.t.Helper()
	object := kit.Placement(team, name)
	object.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	c.MustCreate(object)
}

func busyName(i int) string { return fmt.Sprintf("busy-%d", i%busyPlacements) }

// admit sends a cluster that both webhooks review, and stores nothing.
func (l *load) admit(ctx context.Context, i int) error {
	object := kit.AcceptedCluster(fmt.Sprintf("dry-%d", i))
	return l.c.Create(ctx, object, client.DryRunAll)
}

// change lets a placement select one cluster more or less.
func (l *load) change(ctx context.Context, i int) error {
	patch := fmt.Appendf(nil, `{"spec":{"numberOfClusters":%d}}`, 1+i/busyPlacements%2)
	return l.c.Patch(ctx, kit.Placement(team, busyName(i)), client.RawPatch("application/merge-patch+json", patch))
}

// watch reads the decisions that nothing changes, all the time.
func (l *load) watch(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if got := l.c.selected(ctx); got != nil && !slices.Equal(got, l.steady) {
			l.mu.Lock()
			l.moved = append(l.moved, fmt.Sprintf("%v instead of %v", got, l.steady))
			l.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// selected returns the clusters of the placement that nothing changes; nil where the API server does not respond.
func (c *cluster) selected(ctx context.Context) []string {
	list := &clusterv1beta1.PlacementDecisionList{}
	if c.List(ctx, list, client.InNamespace(team), client.MatchingLabels{clusterv1beta1.PlacementLabel: steadyPlacement}) != nil {
		return nil
	}
	out := []string{}
	for i := range list.Items {
		for _, decision := range list.Items[i].Status.Decisions {
			out = append(out, decision.ClusterName)
		}
	}
	slices.Sort(out)
	return out
}

// during makes a disturbance under load, and requires that no request is lost and no decision moves. Where it ends a manager without a
// warning, a request may have to be repeated.
func (l *load) during(what string, mayRepeat bool, disturb func()) {
	l.c.t.Helper()
	l.Reset()
	l.takeMoved()
	began := time.Now()
	disturb()
	took, counts, moved := time.Since(began), l.Counts(), l.takeMoved()
	l.c.t.Logf("%-32s %5.1f s  %5d requests, %d repeated, %d lost, %d decisions moved; %d did not reach the API server",
		what, took.Seconds(), counts.Sent, counts.Repeated.Count, counts.Lost.Count, len(moved), counts.Unreachable.Count)
	if counts.Unreachable.Count == 0 && counts.Sent < 10*int(took.Seconds()) {
		l.c.t.Errorf("%s: only %d requests in %s: this is no load", what, counts.Sent, took)
	}
	if !mayRepeat && counts.Repeated.Count > 0 {
		l.c.t.Errorf("%s: repeated requests: %s", what, counts.Repeated)
	}
	if counts.Lost.Count > 0 {
		l.c.t.Errorf("%s: lost requests: %s", what, counts.Lost)
	}
	if len(moved) > 0 {
		l.c.t.Errorf("%s: %d reads of moved decisions, such as %s", what, len(moved), strings.Join(moved[:min(len(moved), 3)], "\n"))
	}
}

// takeMoved returns the reads with other clusters since the last call.
func (l *load) takeMoved() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.moved
	l.moved = nil
	return out
}

// end stops the load, and waits until the manager has decided every change.
func (l *load) end() {
	l.c.t.Helper()
	l.End()
	l.c.await("every placement to be decided", func(ctx context.Context) error {
		list := &clusterv1beta1.PlacementList{}
		if err := l.c.List(ctx, list, client.InNamespace(team)); err != nil {
			return err
		}
		for i := range list.Items {
			p := &list.Items[i]
			for _, condition := range p.Status.Conditions {
				if condition.ObservedGeneration != p.Generation {
					return fmt.Errorf("%s has %+v at generation %d: %w", p.Name, condition, p.Generation, errNotYet)
				}
			}
			if p.Spec.NumberOfClusters != nil && p.Status.NumberOfSelectedClusters != min(*p.Spec.NumberOfClusters, int32(len(l.steady))) {
				return fmt.Errorf("%s has selected %d clusters, want %d: %w", p.Name, p.Status.NumberOfSelectedClusters, *p.Spec.NumberOfClusters,
					errNotYet)
			}
		}
		return nil
	})
}
