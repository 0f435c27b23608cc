package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
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
	c    *cluster
	stop context.CancelFunc
	// steady are the clusters of the placement that nothing changes.
	steady  []string
	running sync.WaitGroup

	mu sync.Mutex
	// sent are the responses of the API server, unreachable the requests that did not reach it. repeated are the
	// failures of those that passed later.
	sent, unreachable int
	// lost are requests that should have passed, moved are reads of the placement with other clusters.
	repeated, lost, moved []string
}

// startLoad starts the load. It ends with stop, or with the test.
func (c *cluster) startLoad() *load {
	c.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	out := &load{c: c, stop: stop}
	c.t.Cleanup(func() { out.stop(); out.running.Wait() })
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
	out.send(ctx, admissions, out.admit)
	out.send(ctx, changes, out.change)
	out.running.Go(func() { out.watch(ctx) })
	return out
}

// createPlacement stores a placement that selects every cluster, also those without an agent.
func (c *cluster) createPlacement(name string) {
	c.t.Helper()
	object := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	object.Spec.Tolerations = []clusterv1beta1.Toleration{{Operator: clusterv1beta1.TolerationOpExists}}
	if err := c.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

func busyName(i int) string { return fmt.Sprintf("busy-%d", i%busyPlacements) }

// send calls a function at a rate until the context ends. A call that would wait for too many others is not made.
func (l *load) send(ctx context.Context, rate int, call func(ctx context.Context, i int) error) {
	calls := make(chan int)
	for range senders {
		l.running.Go(func() {
			for i := range calls {
				requestCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
				l.request(requestCtx, i, call)
				cancel()
			}
		})
	}
	l.running.Go(func() {
		defer close(calls)
		ticker := time.NewTicker(time.Second / time.Duration(rate))
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case calls <- i:
			case <-ctx.Done():
				return
			}
		}
	})
}

// request sends a request, and again where the webhooks did not respond or could not review it, as clients of an API server do.
func (l *load) request(ctx context.Context, i int, call func(ctx context.Context, i int) error) {
	err := call(ctx, i)
	if err == nil || !strings.Contains(err.Error(), "failed calling webhook") && !strings.Contains(err.Error(), "could not be checked") {
		l.record(err)
		return
	}
	first := err
	for range repeats {
		select {
		case <-time.After(repeatAfter):
		case <-ctx.Done():
		}
		if err = call(ctx, i); err == nil {
			break
		}
	}
	if err == nil {
		l.mu.Lock()
		l.repeated = append(l.repeated, first.Error())
		l.mu.Unlock()
	}
	l.record(err)
}

// record counts a response. A conflict is one: another change came first.
func (l *load) record(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil || apierrors.IsConflict(err):
		l.sent++
	case utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || isStarting(err),
		errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "http2: client conn"):
		l.unreachable++
	default:
		l.sent++
		l.lost = append(l.lost, err.Error())
	}
}

// isStarting returns whether the API server itself cannot respond yet.
func isStarting(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && !strings.Contains(err.Error(), "webhook") &&
		(apierrors.IsServiceUnavailable(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not yet ready to handle request"))
}

// admit sends a cluster that both webhooks review, and stores nothing.
func (l *load) admit(ctx context.Context, i int) error {
	object := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("dry-%d", i)}}
	object.Spec.HubAcceptsClient = true
	return l.c.Create(ctx, object, client.DryRunAll)
}

// change lets a placement select one cluster more or less.
func (l *load) change(ctx context.Context, i int) error {
	patch := fmt.Appendf(nil, `{"spec":{"numberOfClusters":%d}}`, 1+i/busyPlacements%2)
	return l.c.Patch(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: busyName(i)}}, client.RawPatch("application/merge-patch+json", patch))
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
	l.mu.Lock()
	l.sent, l.unreachable, l.repeated, l.lost, l.moved = 0, 0, nil, nil, nil
	l.mu.Unlock()
	began := time.Now()
	disturb()
	l.mu.Lock()
	defer l.mu.Unlock()
	took := time.Since(began)
	l.c.t.Logf("%-32s %5.1f s  %5d requests, %d repeated, %d lost, %d decisions moved; %d did not reach the API server",
		what, took.Seconds(), l.sent, len(l.repeated), len(l.lost), len(l.moved), l.unreachable)
	if mayRepeat {
		l.repeated = nil
	}
	if l.unreachable == 0 && l.sent < 10*int(took.Seconds()) {
		l.c.t.Errorf("%s: only %d requests in %s: this is no load", what, l.sent, took)
	}
	for _, list := range [][]string{l.repeated, l.lost, l.moved} {
		if len(list) > 0 {
			l.c.t.Errorf("%s: %d such as %s", what, len(list), strings.Join(list[:min(len(list), 3)], "\n"))
		}
	}
}

// end stops the load, and waits until the manager has decided every change.
func (l *load) end() {
	l.c.t.Helper()
	l.stop()
	l.running.Wait()
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
				return fmt.Errorf("%s has selected %d clusters, want %d: %w", p.Name, p.Status.NumberOfSelectedClusters, *p.Spec.NumberOfClusters, errNotYet)
			}
		}
		return nil
	})
}
