package health

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// tenClusters is ten clusters of which some were last heard of an hour ago, and further objects.
func tenClusters(silent int, further ...client.Object) []client.Object {
	out := further
	for i := range 10 {
		name, renewed := fmt.Sprintf("c%02d", i), time.Duration(0)
		if i < silent {
			renewed = time.Hour
		}
		out = append(out, healthyCluster(name).Obj(), lease(name, renewed))
	}
	return out
}

// suspendedCondition returns what the set `global` says of a suspicion.
func (l *loop) suspendedCondition(t *testing.T) *metav1.Condition {
	t.Helper()
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: "global"}, set); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(set.Status.Conditions, "HealthSuspended")
}

// reconcileAll looks at every cluster and reviews the suspicion, twice.
func (l *loop) reconcileAll(t *testing.T) {
	t.Helper()
	for range 2 {
		for i := range 10 {
			if _, err := l.run(t, fmt.Sprintf("c%02d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.run(t, fleetRequest); err != nil {
			t.Fatal(err)
		}
		l.show(t)
	}
}

// TestManySilentClustersSuspendHealth when most clusters are silent: that is said once, in one write and one event, and nobody is
// touched, now or an hour later or after a restart; when they are back it is said once more.
func TestManySilentClustersSuspendHealth(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(8, globalSet())...)
	check := func(when string, writes int, status metav1.ConditionStatus, message string, since time.Duration, told ...string) {
		t.Helper()
		l.reconcileAll(t)
		said := l.suspendedCondition(t)
		if l.writes != writes || said == nil {
			t.Fatalf("%s: %d writes, it says %v, want %d", when, l.writes, said, writes)
		}
		want := metav1.Condition{Type: "HealthSuspended", Status: status, Reason: said.Reason, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(noon.Add(since))}
		same := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
		if diff := cmp.Diff(want, *said, same); diff != "" {
			t.Errorf("%s: it says (-want +got):\n%s", when, diff)
		}
		if diff := cmp.Diff(told, l.events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", when, diff)
		}
		l.events = nil
		for i := range 10 {
			if got := l.stored(t, fmt.Sprintf("c%02d", i)); got != "True; none" {
				t.Errorf("%s: c%02d is %s", when, i, got)
			}
		}
	}
	const message = "8 of 10 joined ManagedClusters stopped renewing their leases at about the same time, more than 55 %: the hub or its network is probably at fault. " +
		"No further cluster is reported or tainted until no more than half of that share is silent. Check the network of the hub"
	check("at once", 1, "True", message, 0, "/global HealthSuspended")
	l.clock.SetTime(noon.Add(time.Hour))
	check("an hour later", 1, "True", message, 0)
	hub := l.client
	l.start(hub, nil)
	l.show(t)
	l.cache.start(l.clock.Now())
	l.clock.SetTime(noon.Add(2 * time.Hour))
	check("after a restart", 1, "True", message, 0)
	for i := range 10 {
		l.renew(t, fmt.Sprintf("c%02d", i))
	}
	check("when they are back", 2, "False", "The health of ManagedClusters is reported", 2*time.Hour, "/global HealthResumed")
}

// TestUnknownClustersStayUnknown, whatever the hub is suspected of, and is free again once he is back.
func TestUnknownClustersStayUnknown(t *testing.T) {
	before := healthyCluster("down").condition(available, "Unknown").tainted(since(unreachable, time.Hour))
	back := healthyCluster("back").tainted(since(unreachable, time.Hour))
	l := newLoop(t, interceptor.Funcs{}, tenClusters(8, globalSet(), before.Obj(), lease("down", time.Hour), back.Obj(), lease("back", 0))...)
	l.reconcileAll(t)
	for name, want := range map[string]string{"down": "Unknown; unreachable since 1h0m0s", "back": "True; none"} {
		if _, err := l.run(t, name); err != nil {
			t.Fatal(err)
		}
		if got := l.stored(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestDisruptionEndsOnlyOnceStored: a suspicion ends when that is stored, so that a restart cannot revive it.
func TestDisruptionEndsOnlyOnceStored(t *testing.T) {
	broken := false
	l := newLoop(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		if broken {
			return errBoom
		}
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}}, tenClusters(8, globalSet())...)
	l.reconcileAll(t)
	for i := range 10 {
		l.cache.setLease(fmt.Sprintf("c%02d", i), noon.Add(time.Millisecond), noon)
	}
	broken = true
	if _, err := l.run(t, fleetRequest); !errors.Is(err, errBoom) {
		t.Errorf("error %v, want %v", err, errBoom)
	}
	if s, _ := l.cache.input("c00", noon); !s.suspended {
		t.Error("the suspicion is over, and the set says otherwise")
	}
	broken = false
	if _, err := l.run(t, fleetRequest); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.cache.input("c00", noon); s.suspended {
		t.Error("the suspicion goes on, and the set says otherwise")
	}
}

// TestDisruptionNeedsNoGlobalSet: without the set `global` nobody is told, and nobody is given up all the same.
func TestDisruptionNeedsNoGlobalSet(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(8)...)
	l.reconcileAll(t)
	if l.writes > 0 || len(l.events) > 0 {
		t.Errorf("%d writes, events %v, want none", l.writes, l.events)
	}
	if err := l.client.Create(t.Context(), globalSet()); err != nil {
		t.Fatal(err)
	}
	l.reconcileAll(t)
	if said := l.suspendedCondition(t); said == nil || said.Status != metav1.ConditionTrue {
		t.Errorf("the set that came says %v", said)
	}
}

// TestNoConditionWithoutDisruption: where there never was a suspicion, nothing says that there is none.
func TestNoConditionWithoutDisruption(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
	l.reconcileAll(t)
	if said := l.suspendedCondition(t); said != nil || l.writes > 0 {
		t.Errorf("the set says %v after %d writes", said, l.writes)
	}
}

// TestExternalConditionIsCorrected: the condition says what the loop does.
func TestExternalConditionIsCorrected(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet(time.Hour))...)
	l.reconcileAll(t)
	if said := l.suspendedCondition(t); said.Status != metav1.ConditionFalse || l.writes != 1 {
		t.Errorf("the set says %v after %d writes", said, l.writes)
	}
}
