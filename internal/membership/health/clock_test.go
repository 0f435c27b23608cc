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

// renewWith renews the leases of some clusters. The clocks of their agents are ahead by the duration.
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

// heartbeat advances the clock by a period, renews the leases of some clusters, and reconciles each.
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

// synced returns the stored status of ClockSynced.
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

// TestLivenessIgnoresWrittenTimes: the times in the leases do not count. A cluster that renews its lease is available, and a cluster
// that stops is reported Unknown a grace period later. Reporting is never suspended.
func TestLivenessIgnoresWrittenTimes(t *testing.T) {
	for _, ahead := range []time.Duration{
		0, -6 * period, 6 * period, -365 * 24 * time.Hour, 365 * 24 * time.Hour,
		-200 * 365 * 24 * time.Hour,
	} {
		t.Run(fmt.Sprint("ahead by ", ahead), func(t *testing.T) {
			l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
			l.cache.limit = 100
			for range 20 {
				l.heartbeat(t, ahead, names(10)...)
			}
			for _, name := range names(10) {
				if got := l.stored(t, name); got != "True; none" {
					t.Errorf("%s has just renewed its lease, and is %s", name, got)
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

// TestSkewOfOneClusterIsAWarning: the controller writes a condition and an event when a clock is skewed, and again when it is synced.
// The cluster stays available.
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
				t.Errorf("its clock is synced again, and the condition is %s", got)
			}
			if diff := cmp.Diff([]string{"c09/c09 ClockOutOfSync", "c09/c09 ClockSynced"}, l.events); diff != "" || l.writes != 2 {
				t.Errorf("%d writes, events (-want +got):\n%s", l.writes, diff)
			}
		})
	}
}

// TestSkewWithinFivePeriodsIsNotReported, nor is the skew of a cluster that is annotated to skip the check.
func TestSkewWithinFivePeriodsIsNotReported(t *testing.T) {
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

// TestSkewOfTheManagersClock: most clusters are skewed in the same direction, so the clock of the manager is probably wrong. No
// condition changes. The metric shows it, and there is one event at the beginning and one at the end. A cluster is reported as
// skewed only if it was measured after the end.
func TestSkewOfTheManagersClock(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0, globalSet())...)
	l.heartbeat(t, 0, names(10)...)
	for range 20 {
		l.heartbeat(t, -6*period, names(10)...)
	}
	if !l.cache.state().ClockSuspected || l.writes > 0 {
		t.Errorf("all clusters are skewed in the same direction: suspected %v, %d writes", l.cache.state().ClockSuspected, l.writes)
	}
	for range 5 { // the clock is corrected; the clusters are measured one after the other
		for _, name := range names(10) {
			l.clock.SetTime(l.clock.Now().Add(period / 10))
			l.renewWith(t, 0, name)
			l.decideAll(t, names(10)...)
		}
	}
	if l.cache.state().ClockSuspected || l.writes > 0 {
		t.Errorf("the clock is corrected: suspected %v, %d writes", l.cache.state().ClockSuspected, l.writes)
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

// TestAGapInTheWatchGivesANewGracePeriod: no cluster expires during the gap, and each has a whole grace period after it.
func TestAGapInTheWatchGivesANewGracePeriod(t *testing.T) {
	l := newLoop(t, interceptor.Funcs{}, tenClusters(0)...)
	l.cache.limit = 100
	var enqueued []string
	l.cache.enqueue = func(name string) { enqueued = append(enqueued, name) }
	l.cache.watchEnded(noon.Add(period))
	l.clock.SetTime(noon.Add(2 * testGrace))
	l.decideAll(t, names(10)...)
	l.cache.watchStarted(l.clock.Now())
	if len(enqueued) != 10 {
		t.Errorf("enqueued %v, want every cluster whose decision was postponed", enqueued)
	}
	l.clock.SetTime(l.clock.Now().Add(testGrace - 1))
	l.decideAll(t, names(10)...)
	for _, name := range names(10) {
		if got := l.stored(t, name); got != "True; none" {
			t.Errorf("%s is %s within a grace period after the gap", name, got)
		}
	}
	l.clock.SetTime(l.clock.Now().Add(1))
	l.decideAll(t, "c00")
	if got := l.stored(t, "c00"); got == "True; none" {
		t.Error("a cluster is silent for a grace period after the gap, and stays available")
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
		t.Error("restarts of the watch keep a silent cluster available")
	}
}

// TestSilenceIsConfirmed: the API server has a renewal that the watch has not shown yet.
func TestSilenceIsConfirmed(t *testing.T) {
	failing := false
	l := newLoop(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
		opts ...client.GetOption,
	) error {
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
		t.Errorf("the lease is gone: requeue after %s, error %v", result.RequeueAfter, err)
	}
	if got := l.stored(t, "c"); got != "True; none" {
		t.Errorf("a cluster whose lease is gone is %s", got)
	}
}
