package live_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/generate"
	"github.com/berth-project/berth/internal/source/live"
	"github.com/berth-project/berth/internal/source/slim"
)

// BenchmarkHeartbeat is one heartbeat of a cluster, of which nobody is woken: what it costs to decode, and what it costs
// beside that.
func BenchmarkHeartbeat(b *testing.B) {
	f := generate.New(generate.Shape{Clusters: 10000, Placements: 1000, Seed: 7})
	b.Run("decoding", func(b *testing.B) {
		text := written(b, f.Clusters[0])
		b.ReportAllocs()
		for b.Loop() {
			if c := decoded(b, text); c.Name != f.Clusters[0].Name {
				b.Fatal("another cluster was decoded")
			}
		}
	})
	b.Run("slimming", func(b *testing.B) {
		h := newHeart(b, f)
		b.ReportAllocs()
		for b.Loop() {
			h.beat(b)
		}
	})
	b.Run("the world", func(b *testing.B) {
		h := newHeart(b, f)
		b.ReportAllocs()
		for b.Loop() {
			h.world.SetCluster(h.beat(b))
		}
		if h.woken > 0 {
			b.Fatalf("%d placements were woken", h.woken)
		}
	})
}

// TestAHeartbeatAsksForLittleMemory counts, since what a heartbeat costs beside decoding is mostly what it asks for.
func TestAHeartbeatAsksForLittleMemory(t *testing.T) {
	h := newHeart(t, generate.New(generate.Shape{Clusters: 300, Placements: 100, Seed: 7}))
	const most = 8
	if got := testing.AllocsPerRun(1000, func() { h.world.SetCluster(h.beat(t)) }); got > most {
		t.Errorf("%v allocations, want at most %d", got, most)
	}
	if h.woken > 0 {
		t.Errorf("%d placements were woken", h.woken)
	}
}

// heart is a world whose clusters beat one after the other.
type heart struct {
	world    *live.World
	slimmer  *slim.Slimmer
	clusters []*clusterv1.ManagedCluster
	beats    int
	woken    int
}

func newHeart(b testing.TB, f *generate.Fleet) *heart {
	b.Helper()
	h := &heart{slimmer: slim.New()}
	wake := func(fleet.Key, explain.Cause) { h.woken++ }
	h.world = live.New(enginetest.Env(b), wake, wake)
	for _, object := range f.Sets {
		h.world.SetSet(nil, object)
	}
	for _, object := range f.Bindings {
		h.world.SetBinding(object)
	}
	for _, object := range f.Clusters {
		object = h.slim(b, object.DeepCopy())
		h.clusters = append(h.clusters, object)
		h.world.SetCluster(object)
	}
	for _, object := range f.Placements {
		h.world.SetPlacement(object)
	}
	h.world.Ready()
	h.woken = 0
	return h
}

// beat returns the next state of the next cluster: a condition of a later time.
func (h *heart) beat(b testing.TB) *clusterv1.ManagedCluster {
	b.Helper()
	h.beats++
	at := h.beats % len(h.clusters)
	next := *h.clusters[at]
	next.Status.Conditions = append([]metav1.Condition(nil), next.Status.Conditions...)
	next.Status.Conditions[0].LastTransitionTime = metav1.NewTime(generate.Epoch.Add(time.Duration(h.beats) * time.Second))
	h.clusters[at] = h.slim(b, &next)
	return h.clusters[at]
}

func (h *heart) slim(b testing.TB, object *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	b.Helper()
	out, err := h.slimmer.Cluster(object)
	typed, ok := out.(*clusterv1.ManagedCluster)
	if err != nil || !ok {
		b.Fatalf("got %T and error %v", out, err)
	}
	return typed
}

func written(b testing.TB, object any) []byte {
	b.Helper()
	out, err := json.Marshal(object)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func decoded(b testing.TB, text []byte) *clusterv1.ManagedCluster {
	b.Helper()
	out := &clusterv1.ManagedCluster{}
	if err := json.Unmarshal(text, out); err != nil {
		b.Fatal(err)
	}
	return out
}
