package health

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// outageSimulation is a hub whose clusters stop, recover and report failures. Its network fails, and its controller restarts.
type outageSimulation struct {
	*loop
	t       *testing.T
	random  *rand.Rand
	names   []string
	stopped map[string]bool
	failing map[string]bool
	// disconnected is set while no agent reaches the hub.
	disconnected bool
	startedAt    time.Time
	// lastRenewal is when a renewal or a report of a cluster was last stored.
	lastRenewal map[string]time.Time
	// due is the work queue.
	due map[string]time.Time
	// tainted is since when a cluster has been tainted; zero: it is not tainted.
	tainted map[string]time.Time
	// unknownSince is when a cluster was reported Unknown.
	unknownSince map[string]time.Time
	// unknownCount and disruptions count events.
	unknownCount, disruptions int
}

func newOutageSimulation(t *testing.T, seed uint64, clusters int) *outageSimulation {
	objects := []client.Object{globalSet()}
	v := &outageSimulation{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), stopped: map[string]bool{}, failing: map[string]bool{}, lastRenewal: map[string]time.Time{},
		due: map[string]time.Time{}, tainted: map[string]time.Time{}, unknownSince: map[string]time.Time{},
	}
	for i := range clusters {
		name := fmt.Sprintf("c%02d", i)
		v.names = append(v.names, name)
		v.lastRenewal[name] = noon
		objects = append(objects, healthyCluster(name).Obj(), lease(name, 0))
	}
	v.loop = newLoop(t, interceptor.Funcs{}, objects...)
	v.restart()
	return v
}

func (v *outageSimulation) restart() {
	v.startedAt, v.due = v.clock.Now(), map[string]time.Time{}
	v.start(v.client, func(name string) { v.due[name] = time.Time{} })
	v.show(v.t)
	v.cache.start(v.startedAt)
}

// renewLeases renews the leases of the clusters that run and reach the hub, and stores their reports.
func (v *outageSimulation) renewLeases() {
	for _, name := range v.names {
		if v.stopped[name] || v.disconnected || v.clock.Now().Before(v.lastRenewal[name].Add(period)) {
			continue
		}
		v.lastRenewal[name] = v.clock.Now()
		cluster := v.cluster(name)
		want := metav1.ConditionTrue
		if v.failing[name] {
			want = metav1.ConditionFalse
		}
		if readFacts(cluster, false).available != want {
			if err := v.client.Status().Update(v.t.Context(), builder{cluster}.conditionSince(available, string(want), v.clock.Now()).Obj()); err != nil {
				v.t.Fatal(err)
			}
		}
		lease := lease(name, noon.Sub(v.clock.Now()))
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, lease.Spec.RenewTime.Format(metav1.RFC3339Micro)))
		if err := v.client.Patch(v.t.Context(), lease, patch); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *outageSimulation) cluster(name string) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{}
	if err := v.client.Get(v.t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		v.t.Fatal(err)
	}
	return out
}

// processQueue processes all due requests in random order, and checks the invariants after each.
func (v *outageSimulation) processQueue() {
	for range 10 * len(v.names) {
		var ready []string
		for _, name := range slices.Sorted(maps.Keys(v.due)) {
			if !v.clock.Now().Before(v.due[name]) {
				ready = append(ready, name)
			}
		}
		if len(ready) == 0 {
			return
		}
		name := ready[v.random.IntN(len(ready))]
		delete(v.due, name)
		suspended := v.suspended()
		result, err := v.run(v.t, name)
		if err != nil {
			v.t.Fatal(err)
		}
		if at := v.clock.Now().Add(result.RequeueAfter); result.RequeueAfter > 0 && (v.due[name].IsZero() || at.Before(v.due[name])) {
			if _, queued := v.due[name]; !queued {
				v.due[name] = at
			}
		}
		if name != fleetRequest {
			v.checkInvariants(name, suspended)
		} else if !suspended && v.suspended() {
			v.disruptions++
		}
		if v.random.IntN(3) == 0 {
			v.show(v.t)
		}
	}
	v.t.Fatalf("the queue never becomes empty: %v", v.due)
}

func (v *outageSimulation) suspended() bool {
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := v.client.Get(context.WithoutCancel(v.t.Context()), client.ObjectKey{Name: "global"}, set); err != nil {
		v.t.Fatal(err)
	}
	return meta.IsStatusConditionTrue(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionHealthSuspended)
}

// checkInvariants checks what must hold for every reconciled cluster.
func (v *outageSimulation) checkInvariants(name string, suspended bool) {
	v.t.Helper()
	now, cluster := v.clock.Now(), v.cluster(name)
	declared, known := readFacts(cluster, false).available == metav1.ConditionUnknown, !v.unknownSince[name].IsZero()
	if declared && !known {
		v.unknownSince[name] = now
		v.unknownCount++
		if suspended {
			v.t.Errorf("%s is reported Unknown during a disruption", name)
		}
		if now.Before(v.lastRenewal[name].Add(testGrace)) || now.Before(v.startedAt.Add(testGrace)) {
			v.t.Errorf("%s is reported Unknown %s after its last renewal, and %s after the start", name, now.Sub(v.lastRenewal[name]), now.Sub(v.startedAt))
		}
		silent, count := v.countSilent(now)
		if silent > 2 && silent*100 > 55*count {
			v.t.Errorf("%s is reported Unknown while %d of %d are silent", name, silent, count)
		}
	}
	if !declared {
		delete(v.unknownSince, name)
	}
	var since time.Time
	for _, taint := range cluster.Spec.Taints {
		since = taint.TimeAdded.Time
	}
	before := v.tainted[name]
	if suspended && before.IsZero() && !since.IsZero() {
		v.t.Errorf("%s is tainted during a disruption", name)
	}
	if !before.IsZero() && !since.IsZero() && !before.Equal(since) {
		v.t.Errorf("%s has been tainted since %s, and the taint has %s", name, before, since)
	}
	v.tainted[name] = since
}

// countSilent counts naively the clusters without a renewal for half a grace period, except clusters reported Unknown long ago.
func (v *outageSimulation) countSilent(now time.Time) (silent, count int) {
	for _, name := range v.names {
		given := v.unknownSince[name]
		if !given.IsZero() && !now.Before(given.Add(testGrace)) {
			continue
		}
		count++
		if !now.Before(v.lastRenewal[name].Add(testGrace / 2)) {
			silent++
		}
	}
	return silent, count
}

// advance advances the clock, one period at a time.
func (v *outageSimulation) advance(d time.Duration) {
	for end := v.clock.Now().Add(d); v.clock.Now().Before(end); {
		v.clock.SetTime(v.clock.Now().Add(time.Duration(1+v.random.IntN(6)) * time.Second))
		v.renewLeases()
		v.show(v.t)
		v.processQueue()
	}
}

// randomEvent changes the state of the clusters, the network or the controller at random.
func (v *outageSimulation) randomEvent() {
	name := v.names[v.random.IntN(len(v.names))]
	switch v.random.IntN(8) {
	case 0, 1:
		v.stopped[name] = true
	case 2:
		delete(v.stopped, name)
	case 3:
		v.failing[name] = !v.failing[name]
	case 4:
		v.disconnected = !v.disconnected
	case 5:
		v.restart()
	case 6:
		for _, name := range v.names[:v.random.IntN(len(v.names))] {
			v.stopped[name] = true
		}
	case 7:
		v.stopped = map[string]bool{}
	}
}

// TestSimulation drives the controller through random outages. A cluster is never reported Unknown within a grace period after a
// renewal or the start, together with most others, or while reporting is suspended. The time of a taint stays during an outage.
// At the end, the stored state is correct: first with every cluster healthy, then with one cluster stopped.
func TestSimulation(t *testing.T) {
	unknown, disruptions := 0, 0
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			v := newOutageSimulation(t, seed, 7)
			for range 25 {
				v.randomEvent()
				v.advance(time.Duration(1+v.random.IntN(40)) * time.Second)
			}
			v.disconnected, v.stopped, v.failing = false, map[string]bool{}, map[string]bool{}
			v.advance(3 * testGrace)
			for _, name := range v.names {
				if got := v.stored(t, name); got != "True; none" {
					t.Errorf("every cluster is healthy, and %s is %s", name, got)
				}
			}
			if v.suspended() {
				t.Error("every cluster is healthy, and reporting is suspended")
			}
			v.stopped[v.names[3]] = true
			v.advance(3 * testGrace)
			for i, name := range v.names {
				if got := readFacts(v.cluster(name), false).available; (got == metav1.ConditionUnknown) != (i == 3) {
					t.Errorf("only %s is stopped, and %s is %s", v.names[3], name, got)
				}
			}
			unknown, disruptions = unknown+v.unknownCount, disruptions+v.disruptions
		})
	}
	if unknown < 20 || disruptions < 8 {
		t.Errorf("%d clusters were reported Unknown in %d disruptions, too few to test", unknown, disruptions)
	}
}
