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

// tenClusters returns ten clusters and further objects. The silent clusters renewed their leases an hour ago.
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

// suspendedCondition returns the condition HealthSuspended of the set `global`.
func (l *loop) suspendedCondition(t *testing.T) *metav1.Condition {
	t.Helper()
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: "global"}, set); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(set.Status.Conditions, "HealthSuspended")
}

// reconcileAll reconciles every cluster and reviews the fleet, twice.
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

// TestManySilentClustersSuspendHealth: when most clusters are silent there is one write and one event, and no cluster is changed, now,
// an hour later, or after a restart. When they renew their leases again there is one more write and event.
func TestManySilentClustersSuspendHealth(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(8, globalSet())...)
	check := func(when string, writes int, status metav1.ConditionStatus, message string, since time.Duration, events ...string) {
		t.Helper()
		l.reconcileAll(t)
		got := l.suspendedCondition(t)
		if l.writes != writes || got == nil {
			t.Fatalf("%s: %d writes, condition %v, want %d", when, l.writes, got, writes)
		}
		want := metav1.Condition{
			Type: "HealthSuspended", Status: status, Reason: got.Reason, Message: message, ObservedGeneration: 1,
			LastTransitionTime: metav1.NewTime(noon.Add(since)),
		}
		same := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
		if diff := cmp.Diff(want, *got, same); diff != "" {
			t.Errorf("%s: condition (-want +got):\n%s", when, diff)
		}
		if diff := cmp.Diff(events, l.events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", when, diff)
		}
		l.events = nil
		for i := range 10 {
			if got := l.stored(t, fmt.Sprintf("c%02d", i)); got != "True; none" {
				t.Errorf("%s: c%02d is %s", when, i, got)
			}
		}
	}
	const message = "8 of 10 joined ManagedClusters stopped renewing their leases at about the same time, more than 55 %: the hub or its " +
		"network is probably at fault. " +
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
	check("when they renew again", 2, "False", "The health of ManagedClusters is reported", 2*time.Hour, "/global HealthResumed")
}

// TestUnknownClustersStayUnknown during a disruption, until they renew their leases.
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

// TestDisruptionEndsOnlyOnceStored: a disruption ends once its end is stored, so that a restart does not restore it.
func TestDisruptionEndsOnlyOnceStored(t *testing.T) {
	broken := false
	l := newLoop(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
		opts ...client.SubResourcePatchOption,
	) error {
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
		t.Error("the disruption is over, and the condition differs")
	}
	broken = false
	if _, err := l.run(t, fleetRequest); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.cache.input("c00", noon); s.suspended {
		t.Error("the disruption continues, and the condition differs")
	}
}

// TestDisruptionNeedsNoGlobalSet: without the set `global` there is no condition, and no cluster is reported Unknown either.
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
	if got := l.suspendedCondition(t); got == nil || got.Status != metav1.ConditionTrue {
		t.Errorf("the new set has %v", got)
	}
}

// TestNoConditionWithoutDisruption: without a disruption there is no condition about it.
func TestNoConditionWithoutDisruption(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
	l.reconcileAll(t)
	if got := l.suspendedCondition(t); got != nil || l.writes > 0 {
		t.Errorf("the set has %v after %d writes", got, l.writes)
	}
}

// TestExternalConditionIsCorrected: the condition matches the state of the controller.
func TestExternalConditionIsCorrected(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet(time.Hour))...)
	l.reconcileAll(t)
	if got := l.suspendedCondition(t); got.Status != metav1.ConditionFalse || l.writes != 1 {
		t.Errorf("the set has %v after %d writes", got, l.writes)
	}
}
