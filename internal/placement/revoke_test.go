package placement

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// endings are the ways in which Berth stops to decide a placement that it decided before.
func endings() map[string]func(h *fakeHub, p *clusterv1beta1.Placement) {
	return map[string]func(h *fakeHub, p *clusterv1beta1.Placement){
		"disabled": func(h *fakeHub, p *clusterv1beta1.Placement) {
			p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
			h.putPlacement(p)
		},
		"terminating": func(h *fakeHub, p *clusterv1beta1.Placement) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: enginetest.Epoch}, []string{"example.com/hold"}
			h.putPlacement(p)
		},
		"orphaned": func(h *fakeHub, p *clusterv1beta1.Placement) {
			h.orphanSlices()
			h.deletePlacement(p)
		},
	}
}

// orphanSlices removes the owner of every slice, as the garbage collector does when a placement is deleted with orphan propagation.
func (h *fakeHub) orphanSlices() {
	for _, slice := range h.sliceList() {
		next := slice.DeepCopy()
		next.OwnerReferences = nil
		h.putSlice(next)
	}
}

func bindingOf(set string, deleted bool) *clusterv1beta2.ManagedClusterSetBinding {
	out := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: set}}
	if deleted {
		out.DeletionTimestamp, out.Finalizers = &metav1.Time{Time: enginetest.Epoch}, []string{"example.com/hold"}
	}
	return out
}

// TestRevocationReachesPlacementsThatBerthDoesNotDecide revokes access in each way, while Berth does not decide a placement. Its slices
// lose the clusters, and do not get them back when the access is restored.
func TestRevocationReachesPlacementsThatBerthDoesNotDecide(t *testing.T) {
	revocations := map[string]struct {
		revoke, restore func(h *fakeHub, l *loop)
		want            []string
	}{
		"a binding is being deleted": {
			func(_ *fakeHub, l *loop) { l.informed.SetBinding(bindingOf("lake", true)) },
			func(_ *fakeHub, l *loop) { l.informed.SetBinding(bindingOf("lake", false)) },
			[]string{"c00", "c01"},
		},
		"a binding is deleted": {
			func(_ *fakeHub, l *loop) { l.informed.DeleteBinding(bindingOf("lake", false)) },
			func(_ *fakeHub, l *loop) { l.informed.SetBinding(bindingOf("lake", false)) },
			[]string{"c00", "c01"},
		},
		"a set is deleted": {
			func(_ *fakeHub, l *loop) { l.informed.DeleteSet(enginetest.Set("lake").Obj()) },
			func(_ *fakeHub, l *loop) { l.informed.SetSet(nil, enginetest.Set("lake").Obj()) },
			[]string{"c00", "c01"},
		},
		"a cluster changes its set": {
			func(h *fakeHub, _ *loop) { h.putCluster(enginetest.Cluster("c00").In("other").Obj()) },
			func(h *fakeHub, _ *loop) { h.putCluster(enginetest.Cluster("c00").In("sea").Obj()) },
			[]string{"c01", "l00"},
		},
		"a cluster is gone": {
			func(h *fakeHub, _ *loop) { h.deleteCluster("c00") },
			func(h *fakeHub, _ *loop) { h.putCluster(enginetest.Cluster("c00").In("sea").Obj()) },
			[]string{"c01", "l00"},
		},
		"a cluster is tainted, and another joins": {
			func(h *fakeHub, _ *loop) {
				h.putCluster(enginetest.Cluster("c00").In("sea").Taint("down", "NoSelect", enginetest.Epoch).Obj())
				h.putCluster(enginetest.Cluster("c99").In("sea").Obj())
			},
			func(*fakeHub, *loop) {},
			[]string{"c00", "c01", "l00"},
		},
	}
	for state, leave := range endings() {
		for what, tc := range revocations {
			t.Run(state+", "+what, func(t *testing.T) {
				h := newSimpleHub(t, 2)
				h.stored.Add(enginetest.Set("lake").Obj()).Bind("ns", "lake")
				h.putCluster(enginetest.Cluster("l00").In("lake").Obj())
				p := enginetest.Placement("ns", "p").Obj()
				h.putPlacement(p)
				l := startLoop(t, h)
				l.drain()
				leave(h, h.stored.Placements[keyOf(p)].DeepCopy())
				l.drain()
				if got := h.clusters(keyOf(p)); !slices.Equal(got, []string{"c00", "c01", "l00"}) {
					t.Fatalf("slices have %v before anything is revoked", got)
				}
				tc.revoke(h, l)
				l.drain()
				if diff := cmp.Diff(tc.want, h.clusters(keyOf(p))); diff != "" {
					t.Errorf("once it is revoked (-want +got):\n%s", diff)
				}
				tc.restore(h, l)
				l.drain()
				if diff := cmp.Diff(tc.want, h.clusters(keyOf(p))); diff != "" {
					t.Errorf("once it is allowed again (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestRevocationAfterDowntime starts a manager after the revocation.
func TestRevocationAfterDowntime(t *testing.T) {
	for state, leave := range endings() {
		t.Run(state, func(t *testing.T) {
			h := newSimpleHub(t, 2)
			p := enginetest.Placement("ns", "p").Obj()
			h.putPlacement(p)
			startLoop(t, h).drain()
			leave(h, h.stored.Placements[keyOf(p)].DeepCopy())
			h.putCluster(enginetest.Cluster("c00").In("other").Obj())
			l := startLoop(t, h)
			l.drain()
			if got := h.clusters(keyOf(p)); !slices.Equal(got, []string{"c01"}) {
				t.Errorf("slices have %v, want c01", got)
			}
		})
	}
}

// TestSlicesOfOtherSchedulersStayUntouched has a slice of Berth and a slice without Berth's annotation.
func TestSlicesOfOtherSchedulersStayUntouched(t *testing.T) {
	h := newSimpleHub(t, 1)
	p := enginetest.Placement("ns", "p").Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	l.drain()
	endings()["disabled"](h, h.stored.Placements[keyOf(p)].DeepCopy())
	h.putSlice(enginetest.Slice("ns", "p", 7, "elsewhere").Obj())
	h.deleteCluster("c00")
	l.drain()
	if got := h.clusters(keyOf(p)); !slices.Equal(got, []string{"elsewhere"}) {
		t.Errorf("slices have %v, want the slice of the other scheduler unchanged", got)
	}
}

// TestOrphanedSlicesAreReportedAndDeletedOnceEmpty follows the slices of a placement that was deleted with orphan propagation.
func TestOrphanedSlicesAreReportedAndDeletedOnceEmpty(t *testing.T) {
	h := newSimpleHub(t, 2)
	p := enginetest.Placement("ns", "p").Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	registry := prometheus.NewRegistry()
	l.metrics = NewMetrics(registry)
	l.drain()
	l.events = nil
	endings()["orphaned"](h, h.stored.Placements[keyOf(p)])
	l.drain()
	h.putCluster(enginetest.Cluster("c00").In("other").Obj())
	l.drain()
	if got := nonzeroMetrics(t, registry, "orphaned_slices")["orphaned_slices"]; got != 1 {
		t.Errorf("%v slices are counted as orphaned, want 1", got)
	}
	h.putCluster(enginetest.Cluster("c01").In("other").Obj())
	l.drain()
	if len(h.stored.Slices) > 0 {
		t.Errorf("slices %v are left, want none", slices.Collect(slices.Values(h.sliceList())))
	}
	if got := nonzeroMetrics(t, registry, "orphaned_slices")["orphaned_slices"]; got != 0 {
		t.Errorf("%v slices are counted as orphaned, want none", got)
	}
	want := []string{
		"Warning DecisionOrphaned of nothing: Placement p in namespace ns is gone, but 1 of its PlacementDecisions with 2 clusters remain. " +
			"Consumers still use them. Delete them, or create the placement again: it takes them over",
		"Warning ClustersRevoked of nothing: Placement p in namespace ns is gone. " +
			"Berth removed clusters from its decisions that the namespace may no longer reach: 1 (c00)",
		"Warning ClustersRevoked of nothing: Placement p in namespace ns is gone. " +
			"Berth removed clusters from its decisions that the namespace may no longer reach: 1 (c01)",
	}
	if diff := cmp.Diff(want, l.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestSlicesOfADeletedPlacementAreDeletedAtOnce: the manager deletes them together, and the garbage collector would delete them one after
// the other. A new placement with the same name has no old slices.
func TestSlicesOfADeletedPlacementAreDeletedAtOnce(t *testing.T) {
	h := newSimpleHub(t, 3)
	p := enginetest.Placement("ns", "p").PerGroup("1").Obj()
	h.putPlacement(p)
	l := startLoop(t, h)
	l.drain()
	h.deletePlacement(h.stored.Placements[keyOf(p)])
	l.drain()
	if len(h.stored.Slices) > 0 {
		t.Errorf("%d slices are left of a deleted placement", len(h.stored.Slices))
	}
	h.putPlacement(enginetest.Placement("ns", "p").PerGroup("1").Obj())
	l.drain()
	before := slices.Clone(h.sliceList())
	h.deletePlacement(h.stored.Placements[keyOf(p)])
	h.putPlacement(enginetest.Placement("ns", "p").PerGroup("1").Obj())
	l.drain()
	if got := h.clusters(keyOf(p)); !slices.Equal(got, []string{"c00", "c01", "c02"}) {
		t.Errorf("the new placement has %v", got)
	}
	for i, slice := range h.sliceList() {
		if slice.UID == before[i].UID {
			t.Errorf("%s still belongs to the first placement", slice.Name)
		}
	}
	if err := l.pendingWrites(); err != nil {
		t.Error(err)
	}
	if _, left := h.stored.Slices[fleet.Key{Namespace: "ns", Name: "p-decision-4"}]; left {
		t.Error("there is a fourth slice")
	}
}
