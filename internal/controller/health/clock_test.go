package health

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const clockSynced = clusterv1.ManagedClusterConditionClockSynced

// renewWith renews the leases of some clusters, each with what the clock of its agent shows: that much later than now.
func (l *loop) renewWith(t *testing.T, ahead time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		stored := lease(name, 0)
		if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
			t.Fatal(err)
		}
		stored.Spec.RenewTime = &metav1.MicroTime{Time: l.clock.Now().Add(ahead)}
		if err := l.client.Update(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		l.cache.setLease(name, renewTime(stored), l.clock.Now())
	}
}

// heartbeat lets some time pass, in which all of some clusters renew, and decides on each.
func (l *loop) heartbeat(t *testing.T, ahead time.Duration, names ...string) {
	t.Helper()
	l.clock.SetTime(l.clock.Now().Add(period))
	l.renewWith(t, ahead, names...)
	l.decideAll(t, names...)
}

func (l *loop) decideAll(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range append(names, fleetRequest) {
		if _, err := l.run(t, name); err != nil {
			t.Fatal(err)
		}
	}
	l.showClusters(t)
}

// synced returns what is stored of the clock of a cluster.
func (l *loop) synced(t *testing.T, name string) string {
	t.Helper()
	out := &clusterv1.ManagedCluster{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: name}, out); err != nil {
		t.Fatal(err)
	}
	return string(readFacts(out, false).clockSynced)
}

func names(count int) (out []string) {
	for i := range count {
		out = append(out, fmt.Sprintf("c%02d", i))
	}
	return out
}

// TestLivenessIgnoresWrittenTimes: whatever the agents' clocks show, a cluster that goes on renewing its lease is available,
// and one that stops is Unknown a grace later. The brake is off.
func TestLivenessIgnoresWrittenTimes(t *testing.T) {
	for _, ahead := range []time.Duration{0, -6 * period, 6 * period, -365 * 24 * time.Hour, 365 * 24 * time.Hour, -200 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint("ahead by ", ahead), func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
			l.cache.limit = 100
			for range 20 {
				l.heartbeat(t, ahead, names(10)...)
			}
			for _, name := range names(10) {
				if got := l.stored(t, name); got != "True; none" {
					t.Errorf("%s renewed its lease a moment ago, and is %s", name, got)
				}
			}
			for range 5 {
				l.heartbeat(t, ahead, names(9)...)
			}
			l.decideAll(t, "c09")
			if got := l.stored(t, "c09"); got != fmt.Sprintf("Unknown; unreachable since -%s", 25*period) {
				t.Errorf("c09 has not renewed its lease for five periods, and is %s", got)
			}
		})
	}
}

// TestSkewOfOneClusterIsAWarning: a condition and an event, both when the clock is off and when it is right again; the
// cluster stays available.
func TestSkewOfOneClusterIsAWarning(t *testing.T) {
	for sentence, ahead := range map[string]time.Duration{"ahead": 6 * period, "behind": -6 * period} {
		t.Run(sentence, func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
			for range 5 {
				l.heartbeat(t, 0, names(9)...)
				l.renewWith(t, ahead, "c09")
				l.decideAll(t, "c09")
			}
			if got := l.stored(t, "c09") + ", clock " + l.synced(t, "c09"); got != "True; none, clock False" {
				t.Errorf("a cluster whose clock is %s is %s", sentence, got)
			}
			for range 2 {
				l.heartbeat(t, 0, names(10)...)
			}
			if got := l.synced(t, "c09"); got != "True" {
				t.Errorf("its clock is right again, and the condition is %s", got)
			}
			if diff := cmp.Diff([]string{"c09/c09 ClockOutOfSync", "c09/c09 ClockSynced"}, l.events); diff != "" || l.writes != 2 {
				t.Errorf("%d writes, events (-want +got):\n%s", l.writes, diff)
			}
		})
	}
}

// TestSkewWithinFivePeriodsIsNone, and neither is one that the cluster is excused from.
func TestSkewWithinFivePeriodsIsNone(t *testing.T) {
	excused := healthyCluster("excused")
	excused.Annotations = map[string]string{clusterv1.SkipClockSyncCheckAnnotationKey: "true"}
	before := healthyCluster("before").condition(clockSynced, "False")
	before.Annotations = excused.Annotations
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, excused.Obj(), lease("excused", 0), before.Obj(), lease("before", 0))...)
	for range 5 {
		l.heartbeat(t, 0, names(9)...)
		l.renewWith(t, testGrace, "c09")
		l.renewWith(t, time.Hour, "excused", "before")
		l.decideAll(t, "c09", "excused", "before")
	}
	got := map[string]string{}
	for _, name := range []string{"c09", "excused", "before"} {
		got[name] = l.synced(t, name)
	}
	if diff := cmp.Diff(map[string]string{"c09": "", "excused": "", "before": "True"}, got); diff != "" {
		t.Errorf("ClockSynced (-want +got):\n%s", diff)
	}
}

// TestTheManagersClockIsSuspected where most clusters are skewed alike: no condition changes, one event and the metric say
// so, and one event when it is over. No cluster that was not measured since is blamed for it.
func TestTheManagersClockIsSuspected(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
	l.heartbeat(t, 0, names(10)...)
	for range 20 {
		l.heartbeat(t, -6*period, names(10)...)
	}
	if !l.cache.state().ClockSuspected || l.writes > 0 {
		t.Errorf("all clusters are skewed alike: suspected %v, %d writes", l.cache.state().ClockSuspected, l.writes)
	}
	for range 5 { // the clock is set; the clusters are measured one after the other
		for _, name := range names(10) {
			l.clock.SetTime(l.clock.Now().Add(period / 10))
			l.renewWith(t, 0, name)
			l.decideAll(t, names(10)...)
		}
	}
	if l.cache.state().ClockSuspected || l.writes > 0 {
		t.Errorf("the clock is right again: suspected %v, %d writes", l.cache.state().ClockSuspected, l.writes)
	}
	if diff := cmp.Diff([]string{"/global ManagerClockSuspected", "/global ManagerClockTrusted"}, l.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestFirstSkewedClusterIsNotReported: the clock of the manager jumps, and the clusters renew one after the other.
func TestFirstSkewedClusterIsNotReported(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
	l.heartbeat(t, 0, names(10)...)
	for range 10 {
		for _, name := range names(10) {
			l.clock.SetTime(l.clock.Now().Add(period / 10))
			l.renewWith(t, time.Hour, name)
			l.decideAll(t, names(10)...)
		}
	}
	if !l.cache.state().ClockSuspected || l.writes > 0 {
		t.Errorf("suspected %v, %d writes", l.cache.state().ClockSuspected, l.writes)
	}
}

// TestAGapInTheWatchGivesAFreshGrace: no cluster expires while no renewal would be seen, and each has a whole grace after.
func TestAGapInTheWatchGivesAFreshGrace(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0)...)
	l.cache.limit = 100
	var woken []string
	l.cache.wake = func(name string) { woken = append(woken, name) }
	l.cache.watchEnded(noon.Add(period))
	l.clock.SetTime(noon.Add(2 * testGrace))
	l.decideAll(t, names(10)...)
	l.cache.watchStarted(l.clock.Now())
	if len(woken) != 10 {
		t.Errorf("woken %v, want every cluster whose decision was postponed", woken)
	}
	l.clock.SetTime(l.clock.Now().Add(testGrace - 1))
	l.decideAll(t, names(10)...)
	for _, name := range names(10) {
		if got := l.stored(t, name); got != "True; none" {
			t.Errorf("%s is %s within a grace after the gap", name, got)
		}
	}
	l.clock.SetTime(l.clock.Now().Add(1))
	l.decideAll(t, "c00")
	if got := l.stored(t, "c00"); got == "True; none" {
		t.Error("a cluster that is silent for a grace after the gap stays available")
	}
}

// TestAnOrdinaryRestartOfTheWatchChangesNothing: the API server ends each watch after some minutes.
func TestAnOrdinaryRestartOfTheWatchChangesNothing(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, healthyCluster("c").Obj(), lease("c", 0))
	for beat := range 5 {
		l.clock.SetTime(noon.Add(time.Duration(beat+1) * period))
		l.cache.watchEnded(l.clock.Now().Add(-time.Second))
		l.cache.watchStarted(l.clock.Now())
	}
	l.decideAll(t, "c")
	if got := l.stored(t, "c"); got == "True; none" {
		t.Error("a silent cluster stays available for as long as watches are started again")
	}
}

// TestSilenceIsConfirmed: the API server has a renewal that the watch has not shown yet.
func TestSilenceIsConfirmed(t *testing.T) {
	failing := false
	l := newLoop(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(*coordinationv1.Lease); ok && failing {
			return errBoom
		}
		return c.Get(ctx, key, o, opts...)
	}}, healthyCluster("c").Obj(), lease("c", 0))
	l.clock.SetTime(noon.Add(testGrace))
	failing = true
	if _, err := l.run(t, "c"); !errors.Is(err, errBoom) {
		t.Errorf("error %v, want %v", err, errBoom)
	}
	failing = false
	stored := lease("c", 0)
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	stored.Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(period)}
	if err := l.client.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.decideAll(t, "c")
	}
	if got := l.stored(t, "c"); got != "True; none" {
		t.Errorf("a cluster that has renewed its lease is %s", got)
	}
	if err := l.client.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	l.clock.SetTime(noon.Add(2 * testGrace))
	if result, err := l.run(t, "c"); err != nil || result.RequeueAfter != confirmRetry {
		t.Errorf("the lease is gone: look again after %s, error %v", result.RequeueAfter, err)
	}
	if got := l.stored(t, "c"); got != "True; none" {
		t.Errorf("a cluster whose lease has gone is %s", got)
	}
}
