package placement

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// newSimpleHub returns a hub with a number of clusters in one set that is bound to one namespace.
func newSimpleHub(t *testing.T, clusters int) *fakeHub {
	h := newHub(t)
	h.stored.Add(enginetest.Set("sea").Obj()).Bind("ns", "sea")
	for i := range clusters {
		h.putCluster(enginetest.Cluster(fmt.Sprintf("c%02d", i)).In("sea").Obj())
	}
	return h
}

func request(key fleet.Key) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}}
}

// clusters returns the clusters in the slices with the label of a placement.
func (h *fakeHub) clusters(key fleet.Key) []string {
	var out []string
	for _, slice := range h.stored.Listed(key) {
		out = append(out, plan.Clusters(slice)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestAPlacementIsDecidedOnce(t *testing.T) {
	h := newSimpleHub(t, 2)
	h.putPlacement(enginetest.Placement("ns", "p").Obj())
	l := startLoop(t, h)
	l.drain()
	want := []string{"create p-decision-1", "status of p-decision-1", "mark p-decision-1", "status of p"}
	if diff := cmp.Diff(want, h.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	wantEvents := []string{"Normal DecisionCreate of p-decision-1: Decisions of placement p in namespace ns are created: 2 " +
		"selected, added 2 (c00, c01)"}
	if diff := cmp.Diff(wantEvents, l.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestAnyWriteMayFail lets each write in turn fail in each way. The error is reported, the placement is enqueued again, and
// the final state is the same as without a failure.
func TestAnyWriteMayFail(t *testing.T) {
	for name, kind := range map[string]fault{"refused": writeRefused, "lost": requestLost, "stored without a response": responseLost} {
		for at := range 4 {
			t.Run(fmt.Sprintf("write %d is %s", at, name), func(t *testing.T) {
				h := newSimpleHub(t, 3)
				p := enginetest.Placement("ns", "p").Number(2).Obj()
				h.putPlacement(p)
				l := startLoop(t, h)
				seen := 0
				h.fault = func() fault {
					seen++
					if seen == at+1 {
						return kind
					}
					return writeOK
				}
				if _, err := l.Reconcile(t.Context(), request(keyOf(p))); !errors.Is(err, errBoom) && kind != writeRefused || err == nil {
					t.Errorf("error %v, want the fault reported", err)
				}
				if len(l.events) > 0 {
					t.Errorf("events %v, want none before every write is stored", l.events)
				}
				l.drain()
				if err := l.pendingWrites(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestConflictsBackOff(t *testing.T) {
	h := newSimpleHub(t, 2)
	p := enginetest.Placement("ns", "p").Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	h.betweenWrites = func() { // another client always writes first
		touched := h.stored.Placements[keyOf(p)].DeepCopy()
		h.putPlacement(touched)
	}
	last := minConflictRetry / 2
	for range 3 {
		result, err := l.Reconcile(t.Context(), request(keyOf(p)))
		if err != nil || result.RequeueAfter != 2*last {
			t.Errorf("a conflict returns %v, %v, want a retry after %s", result, err, 2*last)
		}
		last = result.RequeueAfter
	}
	h.betweenWrites = func() {}
	l.drain()
	if err := l.pendingWrites(); err != nil {
		t.Error(err)
	}
}

// TestALostResponseMakesNoNewcomers loses the response to a stored decision, and adds better clusters before the informer shows it.
func TestALostResponseMakesNoNewcomers(t *testing.T) {
	h := newSimpleHub(t, 0)
	for _, name := range []string{"m1", "m2"} {
		h.putCluster(enginetest.Cluster(name).In("sea").Obj())
	}
	p := enginetest.Placement("ns", "p").Number(2).Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	seen := 0
	h.fault = func() fault {
		if seen++; seen == 2 {
			return responseLost
		}
		return writeOK
	}
	l.reconcileOne(keyOf(p))
	h.putCluster(enginetest.Cluster("a1").In("sea").Obj())
	for h.deliver(0, l.informed) {
	}
	l.drain()
	if got := h.clusters(keyOf(p)); !slices.Equal(got, []string{"m1", "m2"}) {
		t.Errorf("selected %v, want the stored clusters", got)
	}
}

// TestNothingIsWrittenTwiceWhileInformersLag decides repeatedly before the informers show any write.
func TestNothingIsWrittenTwiceWhileInformersLag(t *testing.T) {
	h := newSimpleHub(t, 3)
	p := enginetest.Placement("ns", "p").PerGroup("1").Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	again := func(what string) {
		t.Helper()
		l.reconcileOne(keyOf(p))
		written := len(h.writes)
		for range 3 {
			l.reconcileOne(keyOf(p))
		}
		if len(h.writes) != written {
			t.Errorf("after %s: wrote %v again", what, h.writes[written:])
		}
	}
	again("creating")
	l.drain()
	next := h.stored.Placements[keyOf(p)].DeepCopy()
	next.Spec.NumberOfClusters = new(int32(1))
	h.putPlacement(next)
	h.deliver(1, l.informed)
	again("deleting")
	l.drain()
	if err := l.pendingWrites(); err != nil {
		t.Error(err)
	}
}

// TestExternalWritesDuringADecisionAreDetected edits a slice that needed no write, while another slice is written.
func TestExternalWritesDuringADecisionAreDetected(t *testing.T) {
	h := newSimpleHub(t, 2)
	p := enginetest.Placement("ns", "p").PerGroup("1").Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	l.drain()
	h.putCluster(enginetest.Cluster("c99").In("sea").Obj())
	h.deliver(0, l.informed)
	h.betweenWrites = func() {
		h.betweenWrites = func() {}
		edited := h.stored.Slices[fleet.Key{Namespace: "ns", Name: "p-decision-1"}].DeepCopy()
		edited.Status.Decisions = nil
		h.putSlice(edited)
		status := h.stored.Placements[keyOf(p)].DeepCopy()
		status.Status.NumberOfSelectedClusters = 77
		h.putPlacement(status)
		for h.deliver(2, l.informed) || h.deliver(1, l.informed) {
		}
	}
	l.drain()
	if err := l.pendingWrites(); err != nil {
		t.Error(err)
	}
}

// TestPlacementDeletedWhileDecided: a new placement with the same name has no incumbents.
func TestPlacementDeletedWhileDecided(t *testing.T) {
	h := newSimpleHub(t, 0)
	h.putCluster(enginetest.Cluster("m1").In("sea").Obj())
	first := enginetest.Placement("ns", "p").Number(1).Obj()
	h.putPlacement(first)
	l := startLoop(t, h)
	h.betweenWrites = func() {
		h.betweenWrites = func() {}
		h.deletePlacement(h.stored.Placements[keyOf(first)])
		for h.deliver(1, l.informed) {
		}
	}
	l.reconcileOne(keyOf(first))
	h.collectGarbage()
	l.drain()
	if got := h.clusters(keyOf(first)); len(got) > 0 {
		t.Errorf("slices with %v are left of a deleted placement", got)
	}
	h.putCluster(enginetest.Cluster("a1").In("sea").Obj())
	h.putPlacement(enginetest.Placement("ns", "p").Number(1).Obj())
	l.drain()
	if got := h.clusters(keyOf(first)); !slices.Equal(got, []string{"a1"}) {
		t.Errorf("the new placement selected %v, want a1: it has no incumbents", got)
	}
}

// TestExternalStatusIsRepairedAfterARestart edits a status that the new process has never written.
func TestExternalStatusIsRepairedAfterARestart(t *testing.T) {
	h := newSimpleHub(t, 2)
	h.putPlacement(enginetest.Placement("ns", "p").Obj())
	startLoop(t, h).drain()
	written := len(h.writes)
	l := startLoop(t, h)
	l.drain()
	if len(h.writes) != written {
		t.Errorf("a restart wrote %v", h.writes[written:])
	}
	p := h.stored.Placements[fleet.Key{Namespace: "ns", Name: "p"}].DeepCopy()
	p.Status.NumberOfSelectedClusters = 77
	h.putPlacement(p)
	l.drain()
	if err := l.pendingWrites(); err != nil {
		t.Error(err)
	}
}

// TestRandomHistories drives the controller through thousands of random histories: facts change, informers lag, writes fail
// in every way, other clients write, the process restarts. After all events are delivered, the stored decisions equal a
// single decision on the stored facts, the queue is empty, and a restart writes nothing.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { randomHistory(t, seed, true) })
	}
}

// TestNoClusterIsEverEvicted goes through random histories without other clients, in which clusters are only added. A cluster
// that was stored as selected is selected in every later state of the hub.
func TestNoClusterIsEverEvicted(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { randomHistory(t, seed, false) })
	}
}

func randomHistory(t *testing.T, seed uint64, otherClients bool) {
	random := rand.New(rand.NewPCG(seed, 7))
	h := newSimpleHub(t, 0)
	for range 3 {
		h.putCluster(enginetest.Cluster(fmt.Sprintf("c%02d", 50+random.IntN(40))).In("sea").Obj())
	}
	for i := range 3 {
		builder := enginetest.Placement("ns", fmt.Sprintf("p%d", i))
		if i > 0 {
			builder.Number(int32(i))
		}
		if i == 2 {
			builder.GroupByLabel("odd", "odd", "yes").PerGroup("1")
		}
		h.putPlacement(builder.Obj())
	}
	l := startLoop(t, h)
	h.fault = func() fault {
		if random.IntN(4) == 0 {
			return fault(1 + random.IntN(3))
		}
		return writeOK
	}
	seen := map[fleet.Key][]string{}
	look := func() {
		if otherClients {
			return
		}
		for _, key := range h.stored.Keys() {
			now := h.clusters(key)
			for _, name := range seen[key] {
				if !slices.Contains(now, name) {
					t.Fatalf("seed %d: %s dropped %s; writes %v", seed, key, name, h.writes)
				}
			}
			seen[key] = now
		}
	}
	h.betweenWrites = func() {
		look()
		if random.IntN(3) == 0 {
			h.deliver(random.IntN(3), l.informed)
		}
		if otherClients && random.IntN(20) == 0 {
			externalWrite(random, h)
		}
	}
	for range 60 {
		randomStep(random, h, &l, otherClients)
		look()
	}
	h.fault, h.betweenWrites = func() fault { return writeOK }, look
	h.collectGarbage()
	l.drain()
	look()
	if err := l.pendingWrites(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	written := len(h.writes)
	startLoop(t, h).drain()
	if len(h.writes) != written {
		t.Fatalf("seed %d: a restart wrote %v", seed, h.writes[written:])
	}
}

// randomStep changes the hub, the informers or the process at random.
func randomStep(random *rand.Rand, h *fakeHub, l **loop, otherClients bool) {
	switch n := random.IntN(100); {
	case n < 35:
		h.deliver(random.IntN(3), (*l).informed)
	case n < 65:
		if waking := (*l).queuedKeys(); len(waking) > 0 {
			(*l).reconcileOne(waking[random.IntN(len(waking))])
		}
	case n < 75:
		h.putCluster(enginetest.Cluster(fmt.Sprintf("c%02d", random.IntN(90))).In("sea").Obj())
	case n < 78:
		*l = startLoop(h.t, h)
	case n < 80:
		h.collectGarbage()
	case otherClients:
		externalWrite(random, h)
	default:
	}
}

// externalWrite changes or deletes an object as another client would.
func externalWrite(random *rand.Rand, h *fakeHub) {
	key := fleet.Key{Namespace: "ns", Name: fmt.Sprintf("p%d", random.IntN(3))}
	placement, exists := h.stored.Placements[key]
	list := h.sliceList()
	switch n := random.IntN(9); {
	case n == 0 && len(h.stored.Clusters) > 0:
		names := slices.Sorted(maps.Keys(h.stored.Clusters))
		h.deleteCluster(names[random.IntN(len(names))])
	case n == 1 && exists:
		h.deletePlacement(placement)
	case n == 1:
		h.putPlacement(enginetest.Placement(key.Namespace, key.Name).Number(2).Obj())
	case n == 2 && exists:
		next := placement.DeepCopy()
		next.Spec.NumberOfClusters = new(int32(random.IntN(4)))
		h.putPlacement(next)
	case n == 3 && exists:
		next := placement.DeepCopy()
		next.Status = clusterv1beta1.PlacementStatus{}
		h.putPlacement(next)
	case n == 4 && exists:
		next := placement.DeepCopy()
		if len(next.Annotations) > 0 {
			next.Annotations = nil
		} else {
			next.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
		}
		h.putPlacement(next)
	case n == 5 && len(list) > 0:
		h.deleteSlice(list[random.IntN(len(list))])
	case n == 6 && len(list) > 0:
		next := list[random.IntN(len(list))].DeepCopy()
		next.Labels = map[string]string{clusterv1beta1.PlacementLabel: fmt.Sprintf("p%d", random.IntN(4))}
		h.putSlice(next)
	case n == 7 && len(list) > 0:
		next := list[random.IntN(len(list))].DeepCopy()
		next.Status.Decisions = append(next.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: "smuggled"})
		h.putSlice(next)
	case n == 8:
		stray := enginetest.Slice("ns", key.Name, 1+random.IntN(3)).Obj()
		if random.IntN(2) == 0 {
			stray.Name = fmt.Sprintf("stray-%d", random.IntN(3))
		}
		if _, there := h.stored.Slices[nameOf(stray)]; !there {
			h.putSlice(stray)
		}
	default:
	}
}
