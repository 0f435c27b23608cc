package live

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
)

var keyP, keyQ = fleet.Key{Namespace: "ns", Name: "p"}, fleet.Key{Namespace: "ns", Name: "q"}

// harness is a Fleet and a Stored with a list of the enqueued placements.
type harness struct {
	*Fleet
	*Stored
	t        *testing.T
	clock    *clocktesting.FakeClock
	enqueued []string
	version  int
}

// newHarness returns both, ready, with placements p and q, and cluster c1 in the set that both may choose from. No
// placement is enqueued.
func newHarness(t *testing.T) *harness {
	t.Helper()
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	b := &harness{t: t, clock: clocktesting.NewFakeClock(enginetest.Epoch)}
	b.Fleet, b.Stored = New(env, b.clock,
		func(key fleet.Key, _ explain.Cause) { b.enqueued = append(b.enqueued, key.String()) },
		func(key fleet.Key, _ explain.Cause) { b.enqueued = append(b.enqueued, key.String()+" by a score") })
	b.SetSet(nil, enginetest.Set("sea").Obj())
	b.SetBinding(binding("sea"))
	b.SetCluster(enginetest.Cluster("c1").In("sea").Obj())
	b.SetPlacement(b.placement("p"))
	b.SetPlacement(b.placement("q"))
	b.Ready()
	b.wantEnqueued("ns/p", "ns/q")
	return b
}

func binding(set string) *clusterv1beta2.ManagedClusterSetBinding {
	out := &clusterv1beta2.ManagedClusterSetBinding{}
	out.Namespace, out.Name = "ns", set
	return out
}

// nextVersion returns the next resourceVersion.
func (h *harness) nextVersion() string {
	h.version++
	return strconv.Itoa(h.version)
}

func (h *harness) placement(name string) *clusterv1beta1.Placement {
	p := enginetest.Placement("ns", name).Obj()
	p.ResourceVersion, p.UID, p.Generation = h.nextVersion(), types.UID("uid-"+name), 1
	return p
}

func (h *harness) slice(placement string, number int, clusters ...string) *clusterv1beta1.PlacementDecision {
	s := enginetest.Slice("ns", placement, number, clusters...).Obj()
	s.ResourceVersion, s.UID = h.nextVersion(), types.UID("uid-"+s.Name)
	return s
}

// wantEnqueued checks which placements were enqueued since the last call.
func (h *harness) wantEnqueued(want ...string) {
	h.t.Helper()
	slices.Sort(h.enqueued)
	if got := slices.Compact(h.enqueued); !slices.Equal(got, want) {
		h.t.Errorf("enqueued %v, want %v", got, want)
	}
	h.enqueued = nil
}

// reconcile gathers a placement and finds everything as stored.
func (h *harness) reconcile(key fleet.Key) Input {
	h.t.Helper()
	c, ok := h.Gather(key, enginetest.Epoch)
	if !ok {
		h.t.Fatalf("%s is not to be decided", key)
	}
	h.AfterApply(c.Stored, plan.Plan{})
	h.Finish(key, false)
	return c
}

func (h *harness) incumbents(key fleet.Key) []string {
	var out []string
	for id := range h.snapshot.Incumbents(key).All() {
		out = append(out, h.snapshot.Name(id))
	}
	slices.Sort(out)
	return out
}

func TestOwnWritesEnqueueNothing(t *testing.T) {
	b := newHarness(t)
	b.reconcile(keyP)
	b.Gather(keyP, enginetest.Epoch)
	slice := b.slice("p", 1, "c1")
	b.AfterWrite(slice)
	reported := b.placement("p")
	reported.Status.NumberOfSelectedClusters = 1
	b.SetPlacement(reported) // the echo is faster than the answer
	b.AfterStatusWrite(reported)
	b.Finish(keyP, false)
	b.SetSlice(slice)
	b.SetPlacement(reported)
	b.wantEnqueued()
}

func TestExternalWritesEnqueueTheOwner(t *testing.T) {
	cases := map[string]func(*harness){
		"the slice is edited":   func(b *harness) { b.SetSlice(b.slice("p", 1, "other")) },
		"the slice is deleted":  func(b *harness) { b.DeleteSlice(b.slice("p", 1, "c1")) },
		"another slice appears": func(b *harness) { b.SetSlice(b.slice("p", 7, "c1")) },
		"a stray with the label appears": func(b *harness) {
			stray := b.slice("p", 1)
			stray.Name, stray.UID = "stray", "uid-stray"
			b.SetSlice(stray)
		},
		"the status is edited": func(b *harness) {
			p := b.placement("p")
			p.Status.NumberOfSelectedClusters = 77
			b.SetPlacement(p)
		},
	}
	for name, meddle := range cases {
		for _, restarted := range []bool{false, true} {
			t.Run(name+", restarted: "+strconv.FormatBool(restarted), func(t *testing.T) {
				b := newHarness(t)
				slice := b.slice("p", 1, "c1")
				if restarted {
					b.SetSlice(slice)
				} else {
					b.Gather(keyP, enginetest.Epoch)
					b.AfterWrite(slice)
					b.Finish(keyP, false)
					b.SetSlice(slice)
				}
				b.reconcile(keyP)
				b.wantEnqueued()
				meddle(b)
				b.wantEnqueued("ns/p")
				if got := b.incumbents(keyP); !slices.Equal(got, []string{"c1"}) {
					t.Errorf("incumbents %v, want c1: the write of another client does not count", got)
				}
			})
		}
	}
}

func TestExternalWritesDuringADecisionEnqueueTheOwnerAfterwards(t *testing.T) {
	for _, failed := range []bool{false, true} {
		b := newHarness(t)
		b.SetSlice(b.slice("p", 1, "c1"))
		b.reconcile(keyP)
		c, _ := b.Gather(keyP, enginetest.Epoch)
		b.SetSlice(b.slice("p", 1, "other"))
		b.wantEnqueued()
		b.AfterApply(c.Stored, plan.Plan{})
		b.Finish(keyP, failed)
		if failed { // its caller tries again in its own time
			b.wantEnqueued()
		} else {
			b.wantEnqueued("ns/p")
		}
	}
}

func TestALostResponseIsRecognised(t *testing.T) {
	b := newHarness(t)
	b.Gather(keyP, enginetest.Epoch)
	want := b.slice("p", 1, "c1")
	b.BeforeWrite(want)
	b.Finish(keyP, true)
	b.SetSlice(b.slice("p", 1, "c1"))
	b.wantEnqueued()
	if got := b.incumbents(keyP); !slices.Equal(got, []string{"c1"}) {
		t.Errorf("incumbents %v, want c1", got)
	}
}

// TestALostResponseThatShowsDuringTheNextDecision recognizes the write though the next decision was made from the state
// before it.
func TestALostResponseThatShowsDuringTheNextDecision(t *testing.T) {
	b := newHarness(t)
	b.SetSlice(b.slice("p", 1))
	b.reconcile(keyP)
	b.Gather(keyP, enginetest.Epoch)
	b.BeforeWrite(b.slice("p", 1, "c1"))
	b.Finish(keyP, true)
	c, _ := b.Gather(keyP, enginetest.Epoch)
	b.SetSlice(b.slice("p", 1, "c1"))
	b.AfterApply(c.Stored, plan.Plan{})
	b.Finish(keyP, false)
	if got := b.incumbents(keyP); !slices.Equal(got, []string{"c1"}) {
		t.Errorf("incumbents %v, want c1", got)
	}
}

// TestAttemptsAreRemovedOnceTheOutcomeIsKnown keeps the copy of an old decision by another client from counting as a write
// of this process.
func TestAttemptsAreRemovedOnceTheOutcomeIsKnown(t *testing.T) {
	outcomes := map[string]func(*harness, Input){
		"the write was answered":         func(b *harness, _ Input) { b.AfterWrite(b.slice("p", 1, "c1")) },
		"the next decision is in effect": func(b *harness, c Input) { b.AfterApply(c.Stored, plan.Plan{}) },
		"the placement is left to others": func(b *harness, _ Input) {
			off := b.placement("p")
			off.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
			b.SetPlacement(off)
		},
	}
	for name, outcome := range outcomes {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t)
			c, _ := b.Gather(keyP, enginetest.Epoch)
			b.BeforeWrite(b.slice("p", 1, "c1"))
			outcome(b, c)
			if tried := b.placements[keyP].attempts; len(tried) > 0 {
				t.Errorf("the attempts are %v, want none", tried)
			}
		})
	}
}

func TestWhatWasWrittenCountsUntilTheInformerHasIt(t *testing.T) {
	b := newHarness(t)
	b.Gather(keyP, enginetest.Epoch)
	created, filled := b.slice("p", 1), b.slice("p", 1, "c1")
	b.AfterWrite(created)
	b.AfterWrite(filled)
	b.AfterApply(plan.Stored{Placement: b.placements[keyP].cached}, plan.Plan{Writes: []plan.Write{{Verb: plan.Create, Slice: filled}}})
	b.Finish(keyP, false)
	stored := func(want *clusterv1beta1.PlacementDecision) {
		t.Helper()
		c, _ := b.Gather(keyP, enginetest.Epoch)
		if len(c.Stored.Slices) != 1 || c.Stored.Slices[0] != want {
			t.Errorf("stored %+v, want what was written last", c.Stored.Slices)
		}
		b.Finish(keyP, false)
	}
	stored(filled)
	b.SetSlice(created) // the informer is one write behind
	stored(filled)
	b.SetSlice(filled)
	stored(filled)

	b.DeleteSlice(filled) // by another client; it is created again under another UID before the next event
	again := b.slice("p", 1, "c1")
	again.UID = "uid-again"
	b.AfterWrite(again)
	b.DeleteSlice(filled)
	stored(again)
}

// TestSlicesOfAPredecessorDoNotCount starts with a placement that replaced another placement of the same name.
func TestSlicesOfAPredecessorDoNotCount(t *testing.T) {
	b := newHarness(t)
	slice := b.slice("p", 1, "c1")
	slice.OwnerReferences = []metav1.OwnerReference{{UID: "uid-predecessor", Controller: new(true)}}
	b.SetSlice(slice)
	if c, _ := b.Gather(keyP, enginetest.Epoch); len(c.Snapshot.Slices(keyP)) != 0 || len(c.Stored.Slices) != 1 {
		t.Errorf("decided so far: %v; stored: %d slices; want nothing, and the one to deal with", c.Snapshot.Slices(keyP), len(c.Stored.Slices))
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	b := newHarness(t)
	b.Gather(keyP, enginetest.Epoch)
	for i := range 3 * maxAttempts {
		b.BeforeWrite(b.slice("p", 1, "c"+strconv.Itoa(i)))
	}
	p := b.placements[keyP]
	if got := len(p.attempts[fleet.Key{Namespace: "ns", Name: "p-decision-1"}]); got != maxAttempts {
		t.Errorf("%d contents are stored, want %d", got, maxAttempts)
	}
}

func TestASliceThatChangesItsOwnerEnqueuesTheNewOne(t *testing.T) {
	b := newHarness(t)
	b.reconcile(keyP)
	b.reconcile(keyQ)
	slice := b.slice("p", 1, "c1")
	slice.Labels[clusterv1beta1.PlacementLabel] = "q" // by its name it is p's
	b.SetSlice(slice)
	b.wantEnqueued("ns/p")
	b.DeletePlacement(b.placement("p"))
	b.wantEnqueued("ns/p", "ns/q") // p, so that metrics drop it
	if c := b.reconcile(keyQ); len(c.Stored.Slices) != 1 {
		t.Errorf("q is to deal with %d slices, want the one that was p's", len(c.Stored.Slices))
	}
}

func TestDeletedObjectsLeaveNoState(t *testing.T) {
	b := newHarness(t)
	b.Gather(keyP, enginetest.Epoch)
	slice := b.slice("p", 1, "c1")
	b.DeletePlacement(b.placement("p")) // while it is decided
	b.BeforeWrite(slice)
	b.AfterWrite(slice)
	b.Finish(keyP, false)
	b.SetSlice(slice)
	b.DeleteSlice(slice)
	b.DeletePlacement(b.placement("q"))
	b.DeleteBinding(binding("sea"))
	if len(b.slices)+len(b.placements)+len(b.slicesOf)+len(b.mentionedBy)+len(b.Stored.unmanaged) != 0 {
		t.Errorf("left: slices %v, placements %v, owns %v, mentions %v", b.slices, b.placements, b.slicesOf, b.mentionedBy)
	}
	if len(b.boundTo)+b.index.Len()+len(b.programs)+len(b.Fleet.unmanaged) != 0 {
		t.Errorf("left: bound to %v, %d indexed, programs %v, unmanaged %v", b.boundTo, b.index.Len(), b.programs, b.Fleet.unmanaged)
	}
}

func TestAnUnneededDeletedSliceIsRemoved(t *testing.T) {
	b := newHarness(t)
	slice := b.slice("p", 1, "c1")
	b.SetSlice(slice)
	b.reconcile(keyP)
	b.DeleteSlice(slice) // by another client, and the next decision has no such slice
	b.wantEnqueued("ns/p")
	b.reconcile(keyP)
	b.wantEnqueued()
	if len(b.slices) != 0 {
		t.Errorf("slices %v are still stored", b.slices)
	}
}

func TestAnAuditEndsTheWriteThatIsNeverShown(t *testing.T) {
	b := newHarness(t)
	b.Gather(keyP, enginetest.Epoch)
	b.AfterWrite(b.slice("p", 1, "c1")) // and the informer never shows it
	b.Finish(keyP, false)
	b.clock.Step(assumed.Timeout)
	b.Audit()
	b.wantEnqueued()
	if c, _ := b.Peek(keyP, enginetest.Epoch); len(c.Stored.Slices) != 1 {
		t.Errorf("stored %v, want the slice that was written", c.Stored.Slices)
	}
	b.clock.Step(time.Nanosecond)
	b.Audit()
	b.wantEnqueued("ns/p")
	b.Audit()
	b.wantEnqueued()
	if c, _ := b.Gather(keyP, enginetest.Epoch); len(c.Stored.Slices) != 0 {
		t.Errorf("stored %v, want what the informer has: nothing", c.Stored.Slices)
	}
}

func TestADisabledPlacementIsLeftToOthers(t *testing.T) {
	b := newHarness(t)
	b.SetSlice(b.slice("p", 1, "c1"))
	b.reconcile(keyP)
	off := b.placement("p")
	off.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
	b.SetPlacement(off)
	if _, ok := b.Gather(keyP, enginetest.Epoch); ok {
		t.Error("a disabled placement is to be decided")
	}
	b.enqueued = nil
	b.SetSlice(b.slice("p", 1, "other"))
	b.wantEnqueued()
	b.SetPlacement(b.placement("p"))
	b.wantEnqueued("ns/p")
	b.reconcile(keyP)
	if got := b.incumbents(keyP); !slices.Equal(got, []string{"other"}) {
		t.Errorf("incumbents %v, want what another scheduler chose", got)
	}
}

func TestFleetChangesEnqueue(t *testing.T) {
	score := &clusterv1alpha1.AddOnPlacementScore{}
	score.Namespace, score.Name = "c1", "load"
	beat := func() *clusterv1.ManagedCluster {
		c := enginetest.Cluster("c1").In("sea").Obj()
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type:   clusterv1.ManagedClusterConditionAvailable,
			Status: metav1.ConditionTrue,
		})
		return c
	}
	cases := map[string]struct {
		change func(*harness)
		want   []string
	}{
		"a cluster joins": {
			func(b *harness) { b.SetCluster(enginetest.Cluster("c2").In("sea").Obj()) },
			[]string{"ns/p", "ns/q"},
		},
		"a cluster leaves":                   {func(b *harness) { b.DeleteCluster(enginetest.Cluster("c1").Obj()) }, []string{"ns/p", "ns/q"}},
		"a cluster joins elsewhere":          {func(b *harness) { b.SetCluster(enginetest.Cluster("c2").In("lake").Obj()) }, nil},
		"a heartbeat":                        {func(b *harness) { b.SetCluster(beat()) }, nil},
		"a score that no placement reads":    {func(b *harness) { b.SetScore(score) }, nil},
		"a score goes that was never there":  {func(b *harness) { b.DeleteScore(score) }, nil},
		"the set changes":                    {func(b *harness) { b.SetSet(nil, enginetest.Set("sea").Obj()) }, []string{"ns/p", "ns/q"}},
		"the set is written but not changed": {func(b *harness) { b.SetSet(enginetest.Set("sea").Obj(), enginetest.Set("sea").Obj()) }, nil},
		"an edit of its selector is not taken yet": {func(b *harness) {
			b.AssumeBuiltInSets()
			b.SetSet(enginetest.Set("sea").Obj(), takenSet(enginetest.Set("sea").Exclusive("k", "v").Obj(), enginetest.Set("sea").Obj()))
		}, nil},
		"what a controller took that runs no more does not count": {func(b *harness) {
			b.SetSet(enginetest.Set("sea").Obj(), takenSet(enginetest.Set("sea").Exclusive("k", "v").Obj(), enginetest.Set("sea").Obj()))
		}, []string{"ns/p", "ns/q"}},
		"the set goes":               {func(b *harness) { b.DeleteSet(enginetest.Set("sea").Obj()) }, []string{"ns/p", "ns/q"}},
		"a set without a binding":    {func(b *harness) { b.SetSet(nil, enginetest.Set("lake").Obj()) }, nil},
		"a binding comes":            {func(b *harness) { b.SetBinding(binding("lake")) }, []string{"ns/p", "ns/q"}},
		"a binding is written again": {func(b *harness) { b.SetBinding(binding("sea")) }, nil},
		"a binding goes":             {func(b *harness) { b.DeleteBinding(binding("sea")) }, []string{"ns/p", "ns/q"}},
		"the labels of a placement": {func(b *harness) {
			p := b.placement("p")
			p.Labels = map[string]string{"team": "blue"}
			b.SetPlacement(p)
		}, nil},
		"the spec of a placement": {func(b *harness) {
			p := b.placement("p")
			p.Generation = 2
			b.SetPlacement(p)
		}, []string{"ns/p"}},
		"a placement of the same name": {func(b *harness) {
			p := b.placement("p")
			p.UID = "another"
			b.SetPlacement(p)
		}, []string{"ns/p"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t)
			b.reconcile(keyP)
			b.reconcile(keyQ)
			b.wantEnqueued()
			tc.change(b)
			b.wantEnqueued(tc.want...)
		})
	}
}

// TestAnInputIsCompiledFromItsSpec changes a spec during Gather and Peek. The program belongs to the stored spec, though
// compiling runs without the lock.
func TestAnInputIsCompiledFromItsSpec(t *testing.T) {
	b := newHarness(t)
	const specs = 300
	check := func(c Input, ok bool) {
		if stored := c.Stored.Placement; !ok || c.Program == nil || stored.Generation > 1 && int64(c.Program.Wanted) != stored.Generation {
			t.Errorf("generation %d is decided by %+v", stored.Generation, c.Program)
		}
	}
	objects := make([]*clusterv1beta1.Placement, 0, specs)
	for generation := range int64(specs) {
		p := b.placement("p")
		p.Generation, p.Spec.NumberOfClusters = generation+2, new(int32(generation+2))
		objects = append(objects, p)
	}
	var working sync.WaitGroup
	working.Go(func() { each(objects, func(p **clusterv1beta1.Placement) { b.SetPlacement(*p) }) })
	working.Go(func() {
		for range specs {
			check(b.Peek(keyP, enginetest.Epoch))
		}
	})
	for range specs {
		check(b.Gather(keyP, enginetest.Epoch))
		b.Finish(keyP, false)
	}
	working.Wait()
	check(b.Gather(keyP, enginetest.Epoch))
}

// TestScoreChangesAreEnqueuedSeparately from all other changes, so that they can be debounced.
func TestScoreChangesAreEnqueuedSeparately(t *testing.T) {
	b := newHarness(t)
	reader := enginetest.Placement("ns", "r").AddOn("load", "cpu", 1).Obj()
	reader.ResourceVersion, reader.UID, reader.Generation = b.nextVersion(), "uid-r", 1
	b.SetPlacement(reader)
	b.wantEnqueued("ns/r")
	for _, key := range []fleet.Key{keyP, keyQ, placementKey(reader)} {
		b.reconcile(key)
	}
	b.wantEnqueued()
	score := enginetest.Score("c1", "load").Value("cpu", 50).Obj()
	b.SetScore(score)
	b.wantEnqueued("ns/r by a score")
	b.SetScore(score)
	b.wantEnqueued()
	b.DeleteScore(score)
	b.wantEnqueued("ns/r by a score")
	b.DeleteCluster(enginetest.Cluster("c1").Obj())
	b.wantEnqueued("ns/p", "ns/q", "ns/r")
}

// TestEachReaderSeesTheLastHeartbeat reads in each way after heartbeats and scores, which alone make no snapshot.
func TestEachReaderSeesTheLastHeartbeat(t *testing.T) {
	beat := func(b *harness, message string) {
		c := enginetest.Cluster("c1").In("sea").Obj()
		c.Status.Conditions = []metav1.Condition{{Type: "Alive", Message: message}}
		b.SetCluster(c)
	}
	for name, read := range map[string]func(*harness) *fleet.Snapshot{
		"Gather": func(b *harness) *fleet.Snapshot { return b.reconcile(keyP).Snapshot },
		"Peek": func(b *harness) *fleet.Snapshot {
			c, _ := b.Peek(keyP, enginetest.Epoch)
			return c.Snapshot
		},
		"Snapshot": func(b *harness) *fleet.Snapshot {
			s, _ := b.Stored.Snapshot(enginetest.Epoch)
			return s
		},
	} {
		b := newHarness(t)
		before := b.snapshot
		beat(b, "first")
		beat(b, "last")
		score := &clusterv1alpha1.AddOnPlacementScore{}
		score.Namespace, score.Name = "c1", "load"
		b.SetScore(score)
		if b.snapshot != before {
			t.Errorf("%s: a snapshot was made before", name)
		}
		b.wantEnqueued()
		s := read(b)
		id, _ := s.ID("c1")
		if got := s.Cluster(id).Object.Status.Conditions[0].Message; got != "last" || s.Score(id, "load") == nil {
			t.Errorf("%s: the snapshot has heartbeat %q and score %v", name, got, s.Score(id, "load"))
		}
	}
}

// TestAHeartbeatHidesNoOtherChange verifies that the next change is compared with the last snapshot.
func TestAHeartbeatHidesNoOtherChange(t *testing.T) {
	b := newHarness(t)
	b.reconcile(keyP)
	b.reconcile(keyQ)
	c := enginetest.Cluster("c1").In("sea").Obj()
	c.Status.Conditions = []metav1.Condition{{Type: "Alive"}}
	b.SetCluster(c)
	b.wantEnqueued()
	b.SetCluster(enginetest.Cluster("c1").In("lake").Obj())
	b.wantEnqueued("ns/p", "ns/q")
	b.Publish()
	if id, _ := b.snapshot.ID("c1"); b.pending != nil || b.snapshot.Cluster(id).Object.Labels[clusterv1beta2.ClusterSetLabel] != "lake" {
		t.Error("nothing is freed")
	}
}

func TestNothingIsDecidedBeforeTheStateIsReady(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	ignore := func(fleet.Key, explain.Cause) {}
	_, w := New(env, clock.RealClock{}, ignore, ignore)
	w.SetPlacement(enginetest.Placement("ns", "p").Obj())
	if _, ok := w.Gather(keyP, time.Time{}); ok {
		t.Error("decided from caches that are still filling")
	}
}

// TestStoredObjectsAreHeldOnce delivers a write from the informer, before and after the response.
func TestStoredObjectsAreHeldOnce(t *testing.T) {
	for name, faster := range map[string]bool{"the answer comes first": false, "the informer is faster": true} {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t)
			b.Gather(keyP, enginetest.Epoch)
			slice, reported := b.slice("p", 1, "c1"), b.placement("p")
			answer := func() {
				b.AfterWrite(slice.DeepCopy())
				b.AfterStatusWrite(reported.DeepCopy())
			}
			if !faster {
				answer()
			}
			b.SetSlice(slice)
			b.SetPlacement(reported)
			if faster {
				answer()
			}
			b.Finish(keyP, false)
			b.wantEnqueued()
			if p := b.placements[keyP]; p.own.Get() != reported || p.cached != reported {
				t.Error("the placement is held twice")
			}
			if s := b.slices[sliceKey(slice)]; s.own.Get() != slice || s.cached != slice {
				t.Error("the slice is held twice")
			}
		})
	}
}

// TestHasClusters compares versions of clusters before the state is ready, as the first decision does.
func TestHasClusters(t *testing.T) {
	version := func(name, version string) *clusterv1.ManagedCluster {
		out := enginetest.Cluster(name).Obj()
		out.ResourceVersion = version
		return out
	}
	w, _ := New(nil, nil, nil, nil)
	w.SetCluster(version("a", "5"))
	for sentence, test := range map[string]struct {
		cluster *clusterv1.ManagedCluster
		want    bool
	}{
		"the same version":           {version("a", "5"), true},
		"an older version":           {version("a", "4"), true},
		"a newer version":            {version("a", "6"), false},
		"a cluster that was deleted": {version("b", "6"), true},
	} {
		if got := w.HasClusters([]clusterv1.ManagedCluster{*test.cluster}); got != test.want {
			t.Errorf("%s: %t, want %t", sentence, got, test.want)
		}
	}
}

// takenSet returns a set of whose selectors the controller of sets has taken another.
func takenSet(of, taken *clusterv1beta2.ManagedClusterSet) *clusterv1beta2.ManagedClusterSet {
	of.Status.ClusterSelector = &taken.Spec.ClusterSelector
	return of
}
