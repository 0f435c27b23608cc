package health

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/source/informer"
)

func TestSlim(t *testing.T) {
	whole := lease("c", time.Hour)
	whole.UID, whole.ResourceVersion, whole.CreationTimestamp = "1", "2", metav1.NewTime(noon)
	whole.Spec.AcquireTime = new(metav1.NewMicroTime(noon))
	want := whole.DeepCopy()
	whole.Labels = map[string]string{"a": "b"}
	whole.Annotations = whole.Labels
	whole.Spec.HolderIdentity = new("agent")
	whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "agent"}}
	got, err := Slim(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
	other := healthyCluster("c").Obj()
	if got, err := Slim(other); err != nil || got != any(other) {
		t.Errorf("%v, error %v, want other objects unchanged", got, err)
	}
}

// TestRenewTime: a lease that was never renewed has the time of its creation. A lease with another name is ignored.
func TestRenewTime(t *testing.T) {
	bare := lease("bare", 0)
	bare.Spec.RenewTime, bare.CreationTimestamp = nil, metav1.NewTime(noon.Add(-time.Minute))
	other := lease("other", time.Hour)
	other.Name = "another-lease"
	s := source{health: newHealthCache(55, false), clock: testclock.NewFakePassiveClock(noon)}
	for _, lease := range []*coordinationv1.Lease{lease("c", time.Second), bare, other} {
		s.setLease(lease)
	}
	got := map[string]time.Duration{}
	for name, e := range s.health.clusters {
		got[name] = noon.Sub(e.renewTime)
	}
	if diff := cmp.Diff(map[string]time.Duration{"c": time.Second, "bare": time.Minute}, got); diff != "" {
		t.Errorf("renewed before noon (-want +got):\n%s", diff)
	}
	s.removeLease(other)
	s.removeLease(bare)
	if len(s.health.clusters) != 1 {
		t.Errorf("%d leases are left, want one", len(s.health.clusters))
	}
}

// TestSilenceCountsFromSync: silence before the sync does not count.
func TestSilenceCountsFromSync(t *testing.T) {
	known := false
	s := source{
		health: newHealthCache(55, false), clock: testclock.NewFakePassiveClock(noon),
		synced: func() bool { return known },
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitForSync(ctx); err == nil || !s.health.silenceFrom.IsZero() {
		t.Errorf("error %v, silence counts from %s, before the sync", err, s.health.silenceFrom)
	}
	known = true
	if err := s.WaitForSync(t.Context()); err != nil || !s.health.silenceFrom.Equal(noon) {
		t.Errorf("error %v, silence counts from %s, want %s", err, s.health.silenceFrom, noon)
	}
}

// TestTombstones: a tombstone removes its object from the cache.
func TestTombstones(t *testing.T) {
	s := source{health: newHealthCache(55, false), clock: testclock.NewFakePassiveClock(noon)}
	events := informer.To(&clusterv1.ManagedCluster{}, func(_, c *clusterv1.ManagedCluster) { s.setCluster(c) }, s.removeCluster).Handler
	events.OnAdd(healthyCluster("a").Obj(), true)
	events.OnAdd(healthyCluster("b").Obj(), true)
	events.OnUpdate(healthyCluster("b").Obj(), healthyCluster("b").condition(available, "False").Obj())
	events.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "a", Obj: healthyCluster("a").Obj()})
	if e := s.health.clusters["b"]; len(s.health.clusters) != 1 || e.available != metav1.ConditionFalse {
		t.Errorf("the cache holds %v", s.health.clusters)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for an object of a wrong type")
		}
	}()
	events.OnAdd(lease("c", 0), false)
}
