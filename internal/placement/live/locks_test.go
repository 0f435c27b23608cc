package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// TestTheFleetNeverCallsStored holds the order of the locks: while the lock of Stored is held, every event of the fleet ends.
func TestTheFleetNeverCallsStored(t *testing.T) {
	b := newHarness(t)
	b.reconcile(keyP)
	disabled := b.placement("q")
	disabled.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	b.SetSlice(b.berthSlice("q", "c1"))
	b.SetPlacement(disabled)
	b.enqueued = nil
	b.Stored.mu.Lock()
	defer b.Stored.mu.Unlock()
	score := enginetest.Score("c1", "load").Value("cpu", 1).Obj()
	for what, event := range map[string]func(){
		"a cluster changes":      func() { b.SetCluster(enginetest.Cluster("c1").In("sea").Label("a", "b").Obj()) },
		"a cluster is deleted":   func() { b.DeleteCluster(enginetest.Cluster("c1").Obj()) },
		"a score changes":        func() { b.SetScore(score) },
		"a score is deleted":     func() { b.DeleteScore(score) },
		"a set changes":          func() { b.SetSet(nil, enginetest.Set("sea").Obj()) },
		"a set is deleted":       func() { b.DeleteSet(enginetest.Set("sea").Obj()) },
		"a binding is created":   func() { b.SetBinding(binding("lake")) },
		"a binding is deleted":   func() { b.DeleteBinding(binding("lake")) },
		"heartbeats are shown":   func() { b.Publish() },
		"the fleet is read":      func() { b.Fleet.Snapshot(enginetest.Epoch) },
		"clusters are awaited":   func() { b.HasClusters([]clusterv1.ManagedCluster{*enginetest.Cluster("c1").Obj()}) },
		"built-in sets are kept": func() { b.AssumeBuiltInSets() },
	} {
		t.Log(what) // the last one is the a cluster that never ends
		event()
	}
	if !slices.Contains(b.enqueued, "ns/p") || !slices.Contains(b.enqueued, "ns/q") {
		t.Errorf("enqueued %v, want p, which Berth decides, and q, which it does not", b.enqueued)
	}
}

// berthSlice returns a slice as Berth writes it.
func (h *harness) berthSlice(placement string, clusters ...string) *clusterv1beta1.PlacementDecision {
	s := h.slice(placement, 1, clusters...)
	s.Annotations = map[string]string{clusterv1beta1.DecisionStrategyAnnotation: "hash"}
	return s
}

// TestAChangeOfTheFleetEnqueuesOnce has a disabled placement that reads the fleet too: the index has its program, and its slice names the
// cluster.
func TestAChangeOfTheFleetEnqueuesOnce(t *testing.T) {
	for what, change := range map[string]struct {
		do   func(*harness)
		want explain.Cause
	}{
		"a cluster joins again": {
			func(b *harness) { b.SetCluster(enginetest.Cluster("c2").In("sea").Obj()) },
			explain.Cause{Kind: kindCluster, Name: "c2", What: created},
		},
		"a cluster is deleted": {
			func(b *harness) { b.DeleteCluster(enginetest.Cluster("c1").Obj()) },
			explain.Cause{Kind: kindCluster, Name: "c1", What: deleted},
		},
		"a set is deleted": {
			func(b *harness) { b.DeleteSet(enginetest.Set("sea").Obj()) },
			explain.Cause{Kind: kindSet, Name: "sea", What: deleted},
		},
		"a binding is deleted": {
			func(b *harness) { b.DeleteBinding(binding("sea")) },
			explain.Cause{Kind: kindBinding, Namespace: "ns", Name: "sea", What: deleted},
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newHarness(t)
			b.SetSlice(b.berthSlice("p", "c1", "c2"))
			b.reconcile(keyP)
			b.reconcile(keyQ)
			disabled := b.placement("p")
			disabled.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
			b.SetPlacement(disabled)
			causes := map[fleet.Key][]explain.Cause{}
			b.Fleet.enqueue = func(key fleet.Key, cause explain.Cause) { causes[key] = append(causes[key], cause) }
			change.do(b)
			for _, key := range []fleet.Key{keyP, keyQ} {
				if got := causes[key]; !slices.Equal(got, []explain.Cause{change.want}) {
					t.Errorf("%s is enqueued by %v, want %v once", key, got, change.want)
				}
			}
		})
	}
}

// TestAnEmptySliceStaysUnmanaged: its namespace may lose a set, and the slice is looked at then.
func TestAnEmptySliceStaysUnmanaged(t *testing.T) {
	b := newHarness(t)
	b.SetSlice(b.berthSlice("gone"))
	b.enqueued = nil
	b.DeleteBinding(binding("sea"))
	b.wantEnqueued("ns/gone")
}

// concurrent is a hub with events from several informers at once, and workers that decide its placements.
type concurrent struct {
	*Fleet
	*Stored
	t *testing.T
	// current is the number of the last change of the fleet, required the last change that enqueued a placement.
	current  atomic.Int64
	required [placements]atomic.Int64
	version  atomic.Int64
	// working is held by the worker of a placement, as the queue does.
	working [placements]sync.Mutex
}

const placements = 4

func (c *concurrent) key(i int) fleet.Key {
	return fleet.Key{Namespace: "ns", Name: "p" + strconv.Itoa(i)}
}

func (c *concurrent) nextVersion() string { return strconv.FormatInt(c.version.Add(1), 10) }

func (c *concurrent) placement(i int, generation int64, disabled bool) *clusterv1beta1.Placement {
	p := enginetest.Placement("ns", c.key(i).Name).Labels("fit", "yes").Obj()
	p.UID, p.Generation, p.ResourceVersion = types.UID("uid-"+p.Name), generation, c.nextVersion()
	if disabled {
		p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	}
	return p
}

// setFleet is the change of the fleet with a number, which the cluster c1 has as a label. With each change the cluster starts or ends to
// match all placements.
func (c *concurrent) setFleet(number int) {
	c.current.Store(int64(number))
	fit := [...]string{"yes", "no"}[number%2]
	c.SetCluster(enginetest.Cluster("c1").In("sea").Label("number", strconv.Itoa(number)).Label("fit", fit).Obj())
}

// work decides a placement: it selects some clusters in one slice.
func (c *concurrent) work(i int, random *rand.Rand) {
	c.working[i].Lock()
	defer c.working[i].Unlock()
	key := c.key(i)
	required := c.required[i].Load()
	input, ok := c.Gather(key, enginetest.Epoch)
	if !ok {
		if found, unmanaged := c.Unmanaged(key, enginetest.Epoch); unmanaged {
			c.checkSnapshot(key, required, found.Snapshot)
		}
		return
	}
	c.checkSnapshot(key, required, input.Snapshot)
	c.checkDecisions(key, input)
	slice := enginetest.Slice("ns", key.Name, 1, fmt.Sprintf("c%d", random.IntN(5))).Obj()
	slice.UID, slice.ResourceVersion = types.UID("uid-"+slice.Name), c.nextVersion()
	slice.Annotations = map[string]string{clusterv1beta1.DecisionStrategyAnnotation: "hash"}
	c.BeforeWrite(slice)
	c.AfterWrite(slice)
	c.AfterApply(input.Stored, plan.Plan{Writes: []plan.Write{{Verb: plan.UpdateDecisions, Slice: slice}}})
	if random.IntN(3) > 0 {
		c.SetSlice(slice)
	}
	c.Finish(key, random.IntN(4) == 0)
}

// checkSnapshot checks that a snapshot has the change that enqueued its placement.
func (c *concurrent) checkSnapshot(key fleet.Key, required int64, snapshot *fleet.Snapshot) {
	id, _ := snapshot.ID("c1")
	number, err := strconv.ParseInt(snapshot.Cluster(id).Object.Labels["number"], 10, 64)
	if err != nil || number < required {
		c.t.Errorf("%s is decided with change %d of the fleet, though change %d enqueued it: %v", key, number, required, err)
	}
}

// checkDecisions checks that the decisions in a snapshot are those of the stored slices.
func (c *concurrent) checkDecisions(key fleet.Key, input Input) {
	var want, got []string
	for _, slice := range input.Stored.Slices {
		want = append(want, plan.Clusters(slice)...)
	}
	for id := range input.Snapshot.Incumbents(key).All() {
		got = append(got, input.Snapshot.Name(id))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("%s has decisions %v in its snapshot, and slices with %v", key, got, want)
	}
}

// TestConcurrentEventsAndDecisions changes the fleet, placements and slices at once. Each input has the change that enqueued its placement,
// and decisions that agree with its slices. The race detector checks that each field has one lock.
func TestConcurrentEventsAndDecisions(t *testing.T) {
	c := &concurrent{t: t}
	numbers := map[fleet.Key]int{}
	for i := range placements {
		numbers[c.key(i)] = i
	}
	enqueue := func(key fleet.Key, cause explain.Cause) {
		if cause.Kind == kindCluster {
			c.required[numbers[key]].Store(c.current.Load())
		}
	}
	c.Fleet, c.Stored = New(enginetest.Env(t), clocktesting.NewFakeClock(enginetest.Epoch), enqueue, enqueue)
	c.SetSet(nil, enginetest.Set("sea").Obj())
	c.SetBinding(binding("sea"))
	c.setFleet(0)
	for i := range placements {
		c.SetPlacement(c.placement(i, 1, false))
	}
	c.Ready()
	const rounds = 400
	var events, workers sync.WaitGroup
	events.Go(func() {
		for number := range rounds {
			c.setFleet(number + 1)
		}
	})
	events.Go(func() {
		for range rounds {
			c.DeleteBinding(binding("lake"))
			c.SetBinding(binding("lake"))
			c.SetScore(enginetest.Score("c1", "load").Value("cpu", int32(c.version.Load()%100)).Obj())
			c.Publish()
		}
	})
	events.Go(func() {
		random := rand.New(rand.NewPCG(1, 1))
		for round := range rounds {
			c.SetPlacement(c.placement(random.IntN(placements), int64(1+round/50), random.IntN(5) == 0))
			c.Audit()
		}
	})
	var done atomic.Bool
	for worker := range 3 {
		random := rand.New(rand.NewPCG(2, uint64(worker)))
		workers.Go(func() {
			for !done.Load() {
				c.work(random.IntN(placements), random)
				c.Peek(c.key(random.IntN(placements)), enginetest.Epoch)
			}
		})
	}
	events.Wait()
	done.Store(true)
	workers.Wait()
}
