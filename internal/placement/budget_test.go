package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

const budgetInterval = 10 * time.Minute

// placementWithBudget returns a placement that selects the clusters with a label. Its budget allows this many evictions per interval.
func placementWithBudget(count int32) *clusterv1beta1.Placement {
	p := enginetest.Placement("ns", "p").Labels("fit", "yes").Obj()
	p.Spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{
		MaxUnavailable: intstr.FromInt32(count), Interval: metav1.Duration{Duration: budgetInterval},
	}
	return p
}

// putMatching stores a cluster, with or without the label that the placement selects.
func (h *fakeHub) putMatching(number int, fit bool) {
	c := enginetest.Cluster(fmt.Sprintf("c%02d", number)).In("sea")
	if fit {
		c.Label("fit", "yes")
	}
	h.putCluster(c.Obj())
}

func TestNoEvictionBeforeTheBudgetIsStored(t *testing.T) {
	h := newSimpleHub(t, 0)
	for i := range 4 {
		h.putMatching(i, true)
	}
	p := placementWithBudget(1)
	h.putPlacement(p)
	l := startLoop(t, h)
	l.drain()
	for i := range 3 {
		h.putMatching(i, false)
	}
	h.writes, l.events = nil, nil
	l.drain()
	if diff := cmp.Diff([]string{"status of p", "status of p-decision-1", "status of p"}, h.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	wantEvents := []string{"Normal DecisionUpdate of p-decision-1: Decisions of placement p in namespace ns are updated: 3 selected (2 " +
		"held), removed 1 (c00: Mismatch 1)"}
	if diff := cmp.Diff(wantEvents, l.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for i, want := range [][]string{{"c02", "c03"}, {"c03"}} {
		h.writes = nil
		l.advance(budgetInterval - time.Nanosecond)
		l.drain()
		if len(h.writes) > 0 {
			t.Errorf("%d: wrote %v before the interval ended", i, h.writes)
		}
		l.advance(time.Nanosecond)
		l.drain()
		if diff := cmp.Diff(want, h.clusters(keyOf(p))); diff != "" {
			t.Errorf("%d: selected (-want +got):\n%s", i, diff)
		}
	}
	if err := l.pendingWrites(); err != nil {
		t.Error(err)
	}
}

// evictionWatcher reads the hub before and after every write, and records which clusters are removed, and when.
type evictionWatcher struct {
	t     *testing.T
	hub   *fakeHub
	key   fleet.Key
	seen  []string
	gone  []time.Time
	limit int
}

func (w *evictionWatcher) observe() {
	w.t.Helper()
	now := w.hub.clusters(w.key)
	for _, name := range w.seen {
		if _, stays := slices.BinarySearch(now, name); !stays {
			w.gone = append(w.gone, w.hub.clock.Now())
		}
	}
	w.seen = now
	recent := 0
	for _, at := range w.gone {
		if at.Add(budgetInterval).After(w.hub.clock.Now()) {
			recent++
		}
	}
	if recent > w.limit {
		w.t.Fatalf("%d clusters were evicted within %s, want at most %d", recent, budgetInterval, w.limit)
	}
}

// TestBudgetUnderRandomInterruptions drives a placement with a budget through random histories. Clusters lose and regain the
// label, informers lag, writes fail in every way, the process restarts, time passes. In every state of the hub the evictions
// within the interval are within the budget. After all events are delivered and time has passed, every cluster that does not
// match is removed, and a restart writes nothing.
func TestBudgetUnderRandomInterruptions(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { randomBudgetHistory(t, seed) })
	}
}

func randomBudgetHistory(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	h := newSimpleHub(t, 0)
	for i := range 8 {
		h.putMatching(i, true)
	}
	p := placementWithBudget(int32(1 + random.IntN(2)))
	if random.IntN(2) == 0 {
		p.Spec.NumberOfClusters = new(int32(5))
	}
	p.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(3)
	h.putPlacement(p)
	l := startLoop(t, h)
	l.drain()
	w := &evictionWatcher{t: t, hub: h, key: keyOf(p), limit: p.Spec.DisruptionPolicy.MaxUnavailable.IntValue()}
	w.observe()
	h.betweenWrites = w.observe
	h.fault = func() fault {
		if random.IntN(4) == 0 {
			return fault(1 + random.IntN(3))
		}
		return writeOK
	}
	for range 80 {
		switch n := random.IntN(100); {
		case n < 35:
			h.deliver(random.IntN(3), l.informed)
		case n < 65 && len(l.queued) > 0:
			l.reconcileOne(l.queuedKeys()[0])
		case n < 85:
			h.putMatching(random.IntN(10), random.IntN(2) == 0)
		case n < 90:
			l = startLoop(t, h)
		default:
			l.advance(time.Duration(random.IntN(400)) * time.Second)
		}
		w.observe()
	}
	h.fault = func() fault { return writeOK }
	for range 12 {
		l.drain()
		w.observe()
		l.advance(budgetInterval)
	}
	if held := plan.ReadLedger(h.stored.Placements[keyOf(p)]).Held; len(held) > 0 {
		t.Fatalf("%v are still held", held)
	}
	if err := l.pendingWrites(); err != nil {
		t.Fatal(err)
	}
	written := len(h.writes)
	startLoop(t, h).drain()
	if len(h.writes) != written {
		t.Fatalf("a restart wrote %v", h.writes[written:])
	}
}
