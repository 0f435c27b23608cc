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

// life is a hub with clusters that die, come back and fall ill, a network that fails, and a loop that is restarted.
type life struct {
	*loop
	t      *testing.T
	random *rand.Rand
	names  []string
	dead   map[string]bool
	ill    map[string]bool
	// dark is set while nobody reaches the hub.
	dark  bool
	began time.Time
	// heard is when a sign of life of a cluster was last stored.
	heard map[string]time.Time
	// due is the work queue.
	due map[string]time.Time
	// tainted is since when a cluster has been without interruption; zero: not.
	tainted map[string]time.Time
	// given is since when a cluster has been given up.
	given map[string]time.Time
	// givenUp and suspicions count what happened.
	givenUp, suspicions int
}

func newLife(t *testing.T, seed uint64, clusters int) *life {
	objects := []client.Object{global()}
	v := &life{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), dead: map[string]bool{}, ill: map[string]bool{}, heard: map[string]time.Time{},
		due: map[string]time.Time{}, tainted: map[string]time.Time{}, given: map[string]time.Time{},
	}
	for i := range clusters {
		name := fmt.Sprintf("c%02d", i)
		v.names = append(v.names, name)
		v.heard[name] = noon
		objects = append(objects, healthy(name).Obj(), lease(name, 0))
	}
	v.loop = newLoop(t, interceptor.Funcs{}, objects...)
	v.restart()
	return v
}

func (v *life) restart() {
	v.began, v.due = v.clock.Now(), map[string]time.Time{}
	v.start(v.client, func(name string) { v.due[name] = time.Time{} })
	v.show(v.t)
	v.cache.begin(v.began)
}

// agents renew their leases and report, as far as they live and reach the hub.
func (v *life) agents() {
	for _, name := range v.names {
		if v.dead[name] || v.dark || v.clock.Now().Before(v.heard[name].Add(period)) {
			continue
		}
		v.heard[name] = v.clock.Now()
		cluster := v.cluster(name)
		want := metav1.ConditionTrue
		if v.ill[name] {
			want = metav1.ConditionFalse
		}
		if readFacts(cluster, false).available != want {
			if err := v.client.Status().Update(v.t.Context(), builder{cluster}.saysSince(available, string(want), v.clock.Now()).Obj()); err != nil {
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

func (v *life) cluster(name string) *clusterv1.ManagedCluster {
	out := &clusterv1.ManagedCluster{}
	if err := v.client.Get(v.t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		v.t.Fatal(err)
	}
	return out
}

// work does all that is due, in any order, and checks each step.
func (v *life) work() {
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
			if _, awake := v.due[name]; !awake {
				v.due[name] = at
			}
		}
		if name != fleet {
			v.check(name, suspended)
		} else if !suspended && v.suspended() {
			v.suspicions++
		}
		if v.random.IntN(3) == 0 {
			v.show(v.t)
		}
	}
	v.t.Fatalf("there is no end of work: %v", v.due)
}

func (v *life) suspended() bool {
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := v.client.Get(context.WithoutCancel(v.t.Context()), client.ObjectKey{Name: "global"}, set); err != nil {
		v.t.Fatal(err)
	}
	return meta.IsStatusConditionTrue(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionHealthSuspended)
}

// check holds what must be true of every cluster that was looked at.
func (v *life) check(name string, suspended bool) {
	v.t.Helper()
	now, cluster := v.clock.Now(), v.cluster(name)
	declared, known := readFacts(cluster, false).available == metav1.ConditionUnknown, !v.given[name].IsZero()
	if declared && !known {
		v.given[name] = now
		v.givenUp++
		if suspended {
			v.t.Errorf("%s is given up though the hub is suspected", name)
		}
		if now.Before(v.heard[name].Add(five)) || now.Before(v.began.Add(five)) {
			v.t.Errorf("%s is given up %s after it was heard, and %s after the loop began", name, now.Sub(v.heard[name]), now.Sub(v.began))
		}
		silent, count := v.silent(now)
		if silent > 2 && silent*100 > 55*count {
			v.t.Errorf("%s is given up while %d of %d are silent", name, silent, count)
		}
	}
	if !declared {
		delete(v.given, name)
	}
	var since time.Time
	for _, taint := range cluster.Spec.Taints {
		since = taint.TimeAdded.Time
	}
	before := v.tainted[name]
	if suspended && before.IsZero() && !since.IsZero() {
		v.t.Errorf("%s is tainted though the hub is suspected", name)
	}
	if !before.IsZero() && !since.IsZero() && !before.Equal(since) {
		v.t.Errorf("%s has been tainted since %s, and says %s", name, before, since)
	}
	v.tainted[name] = since
}

// silent counts naively the clusters that were not heard for half a grace, of all but those given up long ago.
func (v *life) silent(now time.Time) (silent, count int) {
	for _, name := range v.names {
		given := v.given[name]
		if !given.IsZero() && !now.Before(given.Add(five)) {
			continue
		}
		count++
		if !now.Before(v.heard[name].Add(five / 2)) {
			silent++
		}
	}
	return silent, count
}

// pass lets time pass, beat by beat.
func (v *life) pass(d time.Duration) {
	for end := v.clock.Now().Add(d); v.clock.Now().Before(end); {
		v.clock.SetTime(v.clock.Now().Add(time.Duration(1+v.random.IntN(6)) * time.Second))
		v.agents()
		v.show(v.t)
		v.work()
	}
}

// upset lets something happen.
func (v *life) upset() {
	name := v.names[v.random.IntN(len(v.names))]
	switch v.random.IntN(8) {
	case 0, 1:
		v.dead[name] = true
	case 2:
		delete(v.dead, name)
	case 3:
		v.ill[name] = !v.ill[name]
	case 4:
		v.dark = !v.dark
	case 5:
		v.restart()
	case 6:
		for _, name := range v.names[:v.random.IntN(len(v.names))] {
			v.dead[name] = true
		}
	case 7:
		v.dead = map[string]bool{}
	}
}

// TestLife: whatever happens, nobody is given up who was heard within his grace or while the loop did not listen, nor
// with most others, nor while the hub is suspected; the clock of an outage does not start anew; and once all is well,
// or one cluster alone is down, that is what is stored.
func TestLife(t *testing.T) {
	givenUp, suspicions := 0, 0
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			v := newLife(t, seed, 7)
			for range 25 {
				v.upset()
				v.pass(time.Duration(1+v.random.IntN(40)) * time.Second)
			}
			v.dark, v.dead, v.ill = false, map[string]bool{}, map[string]bool{}
			v.pass(3 * five)
			for _, name := range v.names {
				if got := v.stored(t, name); got != "True; none" {
					t.Errorf("all is well, and %s is %s", name, got)
				}
			}
			if v.suspended() {
				t.Error("all is well, and the hub is suspected")
			}
			v.dead[v.names[3]] = true
			v.pass(3 * five)
			for i, name := range v.names {
				if got := readFacts(v.cluster(name), false).available; (got == metav1.ConditionUnknown) != (i == 3) {
					t.Errorf("%s alone is down, and %s is %s", v.names[3], name, got)
				}
			}
			givenUp, suspicions = givenUp+v.givenUp, suspicions+v.suspicions
		})
	}
	if givenUp < 20 || suspicions < 8 {
		t.Errorf("%d clusters were given up, and the hub was suspected %d times: that is no life", givenUp, suspicions)
	}
}
