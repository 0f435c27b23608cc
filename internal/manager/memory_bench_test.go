package manager

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/cli/generate"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/placement/live"
	"github.com/berth-project/berth/internal/views/visibility"
)

var (
	memoryClusters   = flag.Int("clusters", 1000, "clusters of BenchmarkMemory")
	memoryPlacements = flag.Int("placements", 1000, "placements of BenchmarkMemory")
)

// BenchmarkMemory fills the caches and the state of a manager with a fleet, decides every placement, and reports the memory
// of each part.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		m := newMemory(b)
		m.fill(generate.New(generate.Shape{Clusters: *memoryClusters, Placements: *memoryPlacements, Seed: 7}))
		m.table()
	}
}

// memory is the parts of a manager that hold a fleet, with the heap size after each part.
type memory struct {
	b       *testing.B
	clock   *clocktesting.FakeClock
	fleet   *live.Fleet
	stored  *live.Stored
	views   *visibility.Snapshot
	record  *history.Record
	caches  cache.Options
	stores  []toolscache.Store
	queued  []fleet.Key
	version int

	heapBytes uint64
	parts     []part
}

type part struct {
	name  string
	bytes int64
}

func newMemory(b *testing.B) *memory {
	b.Helper()
	env, err := celenv.New()
	if err != nil {
		b.Fatal(err)
	}
	m := &memory{b: b, clock: clocktesting.NewFakeClock(generate.Epoch), caches: cacheOptions(profile.DefaultOptions().Manager)}
	m.record = history.New(history.Options{Clock: m.clock, Env: env})
	enqueue := func(key fleet.Key, cause explain.Cause) {
		m.record.AddCause(key, cause)
		m.queued = append(m.queued, key)
	}
	m.fleet, m.stored = live.New(env, m.clock, enqueue, enqueue)
	return m
}

// fill fills the parts one after the other.
func (m *memory) fill(f *generate.Fleet) {
	m.measure("")
	clusters := cached[clusterv1.ManagedCluster](m, f.Clusters)
	m.measure("clusters in the cache")
	for _, object := range clusters {
		m.fleet.SetCluster(object)
	}
	m.measure("clusters in the state")
	for _, object := range f.Sets {
		m.fleet.SetSet(nil, object)
	}
	for _, object := range f.Bindings {
		m.fleet.SetBinding(object)
	}
	m.measure("sets and bindings")
	placements := cached[clusterv1beta1.Placement](m, f.Placements)
	m.measure("placements in the cache")
	for _, object := range placements {
		m.stored.SetPlacement(object)
	}
	m.measure("programs")
	m.stored.Ready()
	m.measure("index, queue")
	if len(m.queued) != len(f.Placements) {
		m.b.Fatalf("%d placements are enqueued, want %d", len(m.queued), len(f.Placements))
	}
	decisions := m.cache()
	for _, key := range m.queued {
		m.decide(key, decisions, m.stores[1])
	}
	m.queued = nil
	m.measure("decisions")
	m.record = history.New(history.Options{Clock: m.clock})
	m.measure("freed with the record")
	edit := visibility.Empty().Edit(1)
	for _, object := range clusters {
		edit.SetCluster(object)
	}
	m.views, _ = edit.Snapshot()
	m.measure("views")
	runtime.KeepAlive(f)
}

// cached returns objects as an informer stores them.
func cached[T any, P interface {
	*T
	client.Object
}](m *memory, objects []P) []P {
	store := m.cache()
	out := make([]P, 0, len(objects))
	for _, object := range objects {
		object.SetUID(types.UID(fmt.Sprintf("0b7f4e5c-0000-4000-8000-%012d", len(out))))
		out = append(out, received[T, P](m, store, object))
	}
	return out
}

// transform applies the transform of the cache of an object.
func (m *memory) transform(object client.Object) (any, error) {
	for kind, by := range m.caches.ByObject {
		if reflect.TypeOf(kind) == reflect.TypeOf(object) {
			return by.Transform(object)
		}
	}
	return m.caches.DefaultTransform(object)
}

func (m *memory) cache() toolscache.Store {
	out := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	m.stores = append(m.stores, out)
	return out
}

// received returns an object as decoded from the API server, and adds it to a store.
func received[T any, P interface {
	*T
	client.Object
}](m *memory, store toolscache.Store, object P) P {
	out := P(new(T))
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err == nil && store != nil {
		_, err = m.transform(out)
		err = errors.Join(err, store.Add(out))
	}
	if err != nil {
		m.b.Fatal(err)
	}
	return out
}

// decide decides a placement and delivers its writes as responses and as events.
func (m *memory) decide(key fleet.Key, decisions, placements toolscache.Store) {
	turn := m.record.Begin(key)
	c, ok := m.stored.Gather(key, m.clock.Now())
	if !ok {
		m.b.Fatalf("%s cannot be decided", key)
	}
	defer m.stored.Finish(key, false)
	result := engine.Schedule(c.Snapshot, c.Program, plan.ReadLedger(c.Stored.Placement))
	turn.Decided(c, result)
	writes := plan.Diff(result, c.Stored, m.clock.Now())
	for _, write := range writes.Writes {
		m.version++
		if write.Slice != nil {
			slice := write.Slice.DeepCopy()
			slice.UID, slice.ResourceVersion = types.UID(fmt.Sprintf("0b7f4e5c-0000-4000-9000-%012d", m.version)), strconv.Itoa(m.version)
			m.stored.AfterWrite(received[clusterv1beta1.PlacementDecision](m, nil, slice))
			m.stored.SetSlice(received[clusterv1beta1.PlacementDecision](m, decisions, slice))
		} else {
			placement := write.Placement.DeepCopy()
			placement.ResourceVersion = strconv.Itoa(m.version)
			m.stored.AfterStatusWrite(received[clusterv1beta1.Placement](m, nil, placement))
			m.stored.SetPlacement(received[clusterv1beta1.Placement](m, placements, placement))
		}
	}
	m.stored.AfterApply(c.Stored, writes)
	turn.Finish(writes, nil)
}

// measure records the growth of the heap since the last call.
func (m *memory) measure(name string) {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if name != "" {
		m.parts = append(m.parts, part{name, int64(stats.HeapAlloc) - int64(m.heapBytes)})
	}
	m.heapBytes = stats.HeapAlloc
}

func (m *memory) table() {
	var out strings.Builder
	all := 0.0
	for _, p := range m.parts {
		size := float64(p.bytes) / (1 << 20)
		fmt.Fprintf(&out, "%-28s %8.1f MiB\n", p.name, size)
		all += max(size, 0) // freed memory was counted with its part
	}
	m.b.ReportMetric(all, "MiB")
	m.b.Logf("%d clusters, %d placements:\n%s", *memoryClusters, *memoryPlacements, out.String())
	runtime.KeepAlive(m)
}
