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

func (o *outageSimulation) restart() {
	o.startedAt, o.due = o.clock.Now(), map[string]time.Time{}
	o.start(o.client, func(name string) { o.due[name] = time.Time{} })
	o.show(o.t)
	o.cache.start(o.startedAt)
}

// renewLeases renews the leases of the clusters that run and reach the hub, and stores their reports.
func (o *outageSimulation) renewLeases() {
	for _, name := range o.names {
		if o.stopped[name] || o.disconnected || o.clock.Now().Before(o.lastRenewal[name].Add(period)) {
			continue
		}
		o.lastRenewal[name] = o.clock.Now()
		cluster := o.cluster(name)
		want := metav1.ConditionTrue
		if o.failing[name] {
			want = metav1.ConditionFalse
		}
		if readFacts(cluster, false).available != want {
			if err := o.client.Status().Update(o.t.Context(), builder{cluster}.conditionSince(available, string(want), o.clock.Now()).Obj()); err !=
				nil {
				o.t.Fatal(err)
			}
		}
		lease := lease(name, noon.Sub(o.clock.Now()))
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`,
			lease.Spec.RenewTime.Format(metav1.RFC3339Micro)))
		if err := o.client.Patch(o.t.Context(), lease, patch); err != nil {
			o.t.Fatal(err)
		}
	}
}

func (o *outageSimulation) cluster(name string) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{}
	if err := o.client.Get(o.t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		o.t.Fatal(err)
	}
	return out
}

// processQueue processes all due requests in random order, and checks the invariants after each.
func (o *outageSimulation) processQueue() {
	for range 10 * len(o.names) {
		var ready []string
		for _, name := range slices.Sorted(maps.Keys(o.due)) {
			if !o.clock.Now().Before(o.due[name]) {
				ready = append(ready, name)
			}
		}
		if len(ready) == 0 {
			return
		}
		name := ready[o.random.IntN(len(ready))]
		delete(o.due, name)
		suspended := o.suspended()
		result, err := o.run(o.t, name)
		if err != nil {
			o.t.Fatal(err)
		}
		if at := o.clock.Now().Add(result.RequeueAfter); result.RequeueAfter > 0 && (o.due[name].IsZero() || at.Before(o.due[name])) {
			if _, queued := o.due[name]; !queued {
				o.due[name] = at
			}
		}
		if name != fleetRequest {
			o.checkInvariants(name, suspended)
		} else if !suspended && o.suspended() {
			o.disruptions++
		}
		if o.random.IntN(3) == 0 {
			o.show(o.t)
		}
	}
	o.t.Fatalf("the queue never becomes empty: %v", o.due)
}

func (o *outageSimulation) suspended() bool {
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := o.client.Get(context.WithoutCancel(o.t.Context()), client.ObjectKey{Name: "global"}, set); err != nil {
		o.t.Fatal(err)
	}
	return meta.IsStatusConditionTrue(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionHealthSuspended)
}

// checkInvariants checks what must hold for every reconciled cluster.
func (o *outageSimulation) checkInvariants(name string, suspended bool) {
	o.t.Helper()
	now, cluster := o.clock.Now(), o.cluster(name)
	declared, known := readFacts(cluster, false).available == metav1.ConditionUnknown, !o.unknownSince[name].IsZero()
	if declared && !known {
		o.unknownSince[name] = now
		o.unknownCount++
		if suspended {
			o.t.Errorf("%s is reported Unknown during a disruption", name)
		}
		if now.Before(o.lastRenewal[name].Add(testGrace)) || now.Before(o.startedAt.Add(testGrace)) {
			o.t.Errorf("%s is reported Unknown %s after its last renewal, and %s after the start", name, now.Sub(o.lastRenewal[name]),
				now.Sub(o.startedAt))
		}
		silent, count := o.countSilent(now)
		if silent > 2 && silent*100 > 55*count {
			o.t.Errorf("%s is reported Unknown while %d of %d are silent", name, silent, count)
		}
	}
	if !declared {
		delete(o.unknownSince, name)
	}
	var since time.Time
	for _, taint := range cluster.Spec.Taints {
		since = taint.TimeAdded.Time
	}
	before := o.tainted[name]
	if suspended && before.IsZero() && !since.IsZero() {
		o.t.Errorf("%s is tainted during a disruption", name)
	}
	if !before.IsZero() && !since.IsZero() && !before.Equal(since) {
		o.t.Errorf("%s has been tainted since %s, and the taint has %s", name, before, since)
	}
	o.tainted[name] = since
}

// countSilent counts naively the clusters without a renewal for half a grace period, except clusters reported Unknown long ago.
func (o *outageSimulation) countSilent(now time.Time) (silent, count int) {
	for _, name := range o.names {
		given := o.unknownSince[name]
		if !given.IsZero() && !now.Before(given.Add(testGrace)) {
			continue
		}
		count++
		if !now.Before(o.lastRenewal[name].Add(testGrace / 2)) {
			silent++
		}
	}
	return silent, count
}

// advance advances the clock, one period at a time.
func (o *outageSimulation) advance(d time.Duration) {
	for end := o.clock.Now().Add(d); o.clock.Now().Before(end); {
		o.clock.SetTime(o.clock.Now().Add(time.Duration(1+o.random.IntN(6)) * time.Second))
		o.renewLeases()
		o.show(o.t)
		o.processQueue()
	}
}

// randomEvent changes the state of the clusters, the network or the controller at random.
func (o *outageSimulation) randomEvent() {
	name := o.names[o.random.IntN(len(o.names))]
	switch o.random.IntN(8) {
	case 0, 1:
		o.stopped[name] = true
	case 2:
		delete(o.stopped, name)
	case 3:
		o.failing[name] = !o.failing[name]
	case 4:
		o.disconnected = !o.disconnected
	case 5:
		o.restart()
	case 6:
		for _, name := range o.names[:o.random.IntN(len(o.names))] {
			o.stopped[name] = true
		}
	case 7:
		o.stopped = map[string]bool{}
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
