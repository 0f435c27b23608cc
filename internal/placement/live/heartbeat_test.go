package live_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/generate"
	"github.com/berth-project/berth/internal/placement/live"
	"github.com/berth-project/berth/internal/source/transform"
)

// BenchmarkHeartbeat is a heartbeat of a cluster that enqueues nothing: decoding it, transforming it, and recording it in
// the fleet.
func BenchmarkHeartbeat(b *testing.B) {
	f := generate.New(generate.Shape{Clusters: 10000, Placements: 1000, Seed: 7})
	b.Run("decoding", func(b *testing.B) {
		text := encode(b, f.Clusters[0])
		b.ReportAllocs()
		for b.Loop() {
			if c := decode(b, text); c.Name != f.Clusters[0].Name {
				b.Fatal("another cluster was decoded")
			}
		}
	})
	b.Run("slimming", func(b *testing.B) {
		h := newHeartbeats(b, f)
		b.ReportAllocs()
		for b.Loop() {
			h.next(b)
		}
	})
	b.Run("the fleet", func(b *testing.B) {
		h := newHeartbeats(b, f)
		b.ReportAllocs()
		for b.Loop() {
			h.fleet.SetCluster(h.next(b))
		}
		if h.enqueued > 0 {
			b.Fatalf("%d placements were enqueued", h.enqueued)
		}
	})
}

// TestAHeartbeatAllocatesLittle bounds the allocations of a heartbeat, which are most of its cost apart from decoding.
func TestAHeartbeatAllocatesLittle(t *testing.T) {
	h := newHeartbeats(t, generate.New(generate.Shape{Clusters: 300, Placements: 100, Seed: 7}))
	const most = 10
	if got := testing.AllocsPerRun(1000, func() { h.fleet.SetCluster(h.next(t)) }); got > most {
		t.Errorf("%v allocations, want at most %d", got, most)
	}
	if h.enqueued > 0 {
		t.Errorf("%d placements were enqueued", h.enqueued)
	}
}

// heartbeats is a fleet whose clusters send heartbeats one after another.
type heartbeats struct {
	fleet       *live.Fleet
	transformer *transform.Transformer
	clusters    []*clusterv1.ManagedCluster
	count       int
	enqueued    int
}

func newHeartbeats(b testing.TB, f *generate.Fleet) *heartbeats {
	b.Helper()
	h := &heartbeats{transformer: transform.New()}
	wake := func(fleet.Key, explain.Cause) { h.enqueued++ }
	var stored *live.Stored
	h.fleet, stored = live.New(enginetest.Env(b), clock.RealClock{}, wake, wake)
	stored.HoldWithdrawals(time.Minute)
	for _, object := range f.Sets {
		h.fleet.SetSet(nil, object)
	}
	for _, object := range f.Bindings {
		h.fleet.SetBinding(object)
	}
	for _, object := range f.Clusters {
		object = h.transform(b, object.DeepCopy())
		h.clusters = append(h.clusters, object)
		h.fleet.SetCluster(object)
	}
	for _, object := range f.Placements {
		stored.SetPlacement(object)
	}
	var selected []string // a withdrawal is looked for where a cluster is selected
	for _, object := range h.clusters {
		selected = append(selected, object.Name)
	}
	stored.SetSlice(enginetest.Slice(f.Placements[0].Namespace, f.Placements[0].Name, 1, selected...).Obj())
	stored.Ready()
	h.enqueued = 0
	return h
}

// next returns the next state of the next cluster: a condition of a later time.
func (h *heartbeats) next(b testing.TB) *clusterv1.ManagedCluster {
	b.Helper()
	h.count++
	at := h.count % len(h.clusters)
	next := *h.clusters[at]
	next.Status.Conditions = append([]metav1.Condition(nil), next.Status.Conditions...)
	next.Status.Conditions[0].LastTransitionTime = metav1.NewTime(generate.Epoch.Add(time.Duration(h.count) * time.Second))
	h.clusters[at] = h.transform(b, &next)
	return h.clusters[at]
}

func (h *heartbeats) transform(b testing.TB, object *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	b.Helper()
	out, err := h.transformer.Cluster(object)
	typed, ok := out.(*clusterv1.ManagedCluster)
	if err != nil || !ok {
		b.Fatalf("got %T and error %v", out, err)
	}
	return typed
}

func encode(b testing.TB, object any) []byte {
	b.Helper()
	out, err := json.Marshal(object)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func decode(b testing.TB, text []byte) *clusterv1.ManagedCluster {
	b.Helper()
	out := &clusterv1.ManagedCluster{}
	if err := json.Unmarshal(text, out); err != nil {
		b.Fatal(err)
	}
	return out
}
