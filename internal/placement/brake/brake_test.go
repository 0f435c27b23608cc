package brake_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/placement/brake"
)

// bench has a brake over a fleet of 20 clusters: the first ten are in the set a and the others in the set b.
type bench struct {
	*brake.Brake
	clock   *clocktesting.FakePassiveClock
	state   *enginetest.State
	changed []string
	woken   []fleet.Key
}

func newBench(timeout time.Duration) *bench {
	out := &bench{clock: clocktesting.NewFakePassiveClock(enginetest.Epoch), state: enginetest.NewState(
		enginetest.Set("a").Obj(), enginetest.Set("b").Obj(),
	).Bind("ns", "a", "b")}
	for i := range 20 {
		out.state.Add(enginetest.Cluster(name(i)).In([]string{"a", "b"}[i/10]).Obj())
	}
	out.Brake = brake.New(out.clock, timeout, func(set string) { out.changed = append(out.changed, set) },
		func(key fleet.Key) { out.woken = append(out.woken, key) })
	return out
}

func name(i int) string { return fmt.Sprintf("c%02d", i) }

// leaving are departures of clusters by one kind of facts, through their sets.
func (b *bench) leaving(fact engine.Fact, numbers ...int) []engine.Departure {
	var out []engine.Departure
	for _, i := range numbers {
		out = append(out, engine.Departure{Cluster: name(i), Facts: []engine.Fact{fact}, Sets: []string{[]string{"a", "b"}[i/10]}})
	}
	return out
}

// judge judges what leaves a placement, and returns what is kept.
func (b *bench) judge(placement string, leaving []engine.Departure, change ...func(*brake.Decision)) []string {
	of := brake.Decision{
		Key: fleet.Key{Namespace: "ns", Name: placement}, Departures: leaving, SameSpec: true, SameReach: true, Snapshot: b.state.Snapshot(),
	}
	for _, with := range change {
		with(&of)
	}
	return slices.Sorted(maps.Keys(b.Judge(of)))
}

func numbers(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// on returns the types of the conditions of a set whose brake is on.
func (b *bench) on(set string) []string {
	var out []string
	for _, condition := range b.Conditions(set) {
		if condition.Status == metav1.ConditionTrue {
			out = append(out, condition.Type)
		}
	}
	return out
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestASetThatLosesMostClustersAtOnceLosesNone(t *testing.T) {
	b := newBench(0)
	expect(t, "kept", len(b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...))), 6)
	expect(t, "the brakes of a", b.on("a"), []string{"BrakedByLabels"})
	expect(t, "the brakes of b", b.on("b"), []string(nil))
	expect(t, "the brakes of the hub", b.on("global"), []string(nil))
	message := b.Conditions("a")[0].Message
	if !strings.Contains(message, "at least 6 of 10 clusters of the set would have left placements within 1m0s by their labels") ||
		!strings.Contains(message, "kubectl berth holds release managedclusterset/a --hold Brake --reason WHY") {
		t.Errorf("message: %s", message)
	}
}

func TestOneByOneTheClustersAboveTheShareStay(t *testing.T) {
	b := newBench(0)
	for i := range 5 {
		expect(t, "kept", b.judge("p", b.leaving(engine.Taints, i)), []string(nil))
	}
	expect(t, "the sixth", b.judge("p", b.leaving(engine.Taints, 5)), []string{"c05"})
	expect(t, "another placement", b.judge("q", b.leaving(engine.Taints, 7)), []string{"c07"})
	expect(t, "another set", b.judge("q", b.leaving(engine.Taints, 12)), []string(nil))
	expect(t, "other facts", b.judge("q", b.leaving(engine.Claims, 7)), []string(nil))
}

func TestTheFleetHasABrake(t *testing.T) {
	b := newBench(0)
	b.judge("p", b.leaving(engine.Claims, numbers(0, 5)...))
	b.judge("p", b.leaving(engine.Claims, numbers(10, 15)...))
	global := func(numbers ...int) []engine.Departure {
		out := b.leaving(engine.Claims, numbers...)
		for i := range out {
			out[i].Sets = []string{"global"}
		}
		return out
	}
	expect(t, "kept at 11 of 20", b.judge("p", global(5)), []string(nil))
	expect(t, "kept at 12 of 20", b.judge("p", global(6)), []string{"c06"})
	expect(t, "the brakes of the hub", b.on("global"), []string{"BrakedByClaims"})
	expect(t, "a cluster of a set without a brake", b.judge("p", b.leaving(engine.Claims, 7)), []string{"c07"})
}

func TestAPartOfAHubHasTheBrakesOfItsSetsAlone(t *testing.T) {
	b := newBench(0)
	b.OfPart()
	leaving := b.leaving(engine.Claims, numbers(0, 20)...)
	for i := range leaving {
		leaving[i].Sets = []string{"global"}
	}
	expect(t, "kept of the whole part", b.judge("p", leaving), []string(nil))
	expect(t, "the brakes of the hub", b.on("global"), []string(nil))
	expect(t, "kept of a set", len(b.judge("p", b.leaving(engine.Claims, numbers(0, 6)...))), 6)
	b.Observe(func() *clusterv1beta2.ManagedClusterSet {
		on := newBench(0)
		on.judge("p", leaving)
		return on.stored("global")
	}())
	expect(t, "kept by the brake that is on", len(b.judge("p", leaving)), 20)
}

func TestTheDecisionsOfTheHubHaveABrake(t *testing.T) {
	b := newBench(0)
	for i := range 6 {
		b.state.Add(enginetest.Placement("ns", fmt.Sprintf("p%d", i)).Obj())
		b.state.Add(enginetest.Slice("ns", fmt.Sprintf("p%d", i), 1, "c00", "c01", "c12").Obj())
	}
	kept := 0
	for i := range 6 {
		kept += len(b.judge(fmt.Sprintf("p%d", i), b.leaving(engine.Scores, 0, 1, 12)))
	}
	expect(t, "kept of 18", kept, 6) // those of the fifth placement and the sixth
	expect(t, "the brakes of the hub", b.on("global"), []string{"BrakedByScores"})
}

func TestWhatIsNotCounted(t *testing.T) {
	for what, change := range map[string]func(*bench) []string{
		"an edit of the placement": func(b *bench) []string {
			return b.judge("p", b.leaving(engine.Labels, numbers(0, 10)...), func(d *brake.Decision) { d.SameSpec = false })
		},
		"a set or binding that is gone": func(b *bench) []string {
			leaving := b.leaving(engine.Labels, numbers(0, 10)...)
			for i := range leaving {
				leaving[i].OutsideSets = true
			}
			return b.judge("p", leaving, func(d *brake.Decision) { d.SameReach = false })
		},
		"what left more than a minute ago": func(b *bench) []string {
			b.judge("p", b.leaving(engine.Labels, numbers(0, 5)...))
			b.clock.SetTime(enginetest.Epoch.Add(time.Minute))
			return b.judge("p", b.leaving(engine.Labels, 5, 6))
		},
		"decisions of placements that are gone": func(b *bench) []string {
			for i := range 6 {
				b.state.Add(enginetest.Placement("ns", fmt.Sprintf("p%d", i)).Obj())
				b.state.Add(enginetest.Slice("ns", fmt.Sprintf("p%d", i), 1, "c00", "c01", "c12").Obj())
			}
			var out []string
			for i := range 6 {
				out = append(out, b.judge(fmt.Sprintf("p%d", i), b.leaving(engine.Scores, 0, 1, 12))...)
				b.Remove(fleet.Key{Namespace: "ns", Name: fmt.Sprintf("p%d", i)})
			}
			return out
		},
		"many placements of one namespace with three clusters": func(b *bench) []string {
			for i := range 60 {
				b.state.Add(enginetest.Placement("ns", fmt.Sprintf("p%d", i)).Obj())
				b.state.Add(enginetest.Slice("ns", fmt.Sprintf("p%d", i), 1, "c00", "c01", "c02").Obj())
			}
			b.state.Add(enginetest.Placement("other", "all").Obj())
			b.state.Add(enginetest.Slice("other", "all", 1, "c00", "c01", "c02", "c10", "c11", "c12", "c13", "c14").Obj())
			for i := range 60 {
				b.judge(fmt.Sprintf("p%d", i), b.leaving(engine.Claims, 0, 1, 2))
			}
			return b.judge("all", b.leaving(engine.Claims, 12))
		},
		"placements of many namespaces of a tenant with three clusters": func(b *bench) []string {
			for i := range 60 {
				namespace := fmt.Sprintf("tenant-%d", i)
				b.state.Add(enginetest.Placement(namespace, "p").Obj())
				b.state.Add(enginetest.Slice(namespace, "p", 1, "c00", "c01", "c02").Obj())
			}
			b.state.Add(enginetest.Placement("other", "all").Obj())
			b.state.Add(enginetest.Slice("other", "all", 1, "c10", "c11", "c12", "c13", "c14").Obj())
			for i := range 60 {
				b.judge("p", b.leaving(engine.Taints, 0, 1, 2), func(d *brake.Decision) { d.Key.Namespace = fmt.Sprintf("tenant-%d", i) })
			}
			return b.judge("all", b.leaving(engine.Taints, 12), func(d *brake.Decision) { d.Key.Namespace = "other" })
		},
		"a set of nine clusters": func(b *bench) []string {
			delete(b.state.Clusters, "c09")
			return b.judge("p", b.leaving(engine.Labels, numbers(0, 9)...))
		},
		"the same cluster in many placements": func(b *bench) []string {
			var out []string
			for i := range 20 {
				out = append(out, b.judge(fmt.Sprintf("p%d", i), b.leaving(engine.Labels, 0))...)
			}
			return out
		},
	} {
		t.Run(what, func(t *testing.T) { expect(t, "kept", change(newBench(0)), []string(nil)) })
	}
}

func TestAnEditKeepsWhatIsKept(t *testing.T) {
	b := newBench(0)
	b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...))
	edited := func(d *brake.Decision) { d.SameSpec, d.Kept = false, map[string]string{"c00": "kept"} }
	expect(t, "kept after an edit", b.judge("p", b.leaving(engine.Labels, 0, 8), edited), []string{"c00"})
}

func TestABrakeEnds(t *testing.T) {
	key := fleet.Key{Namespace: "ns", Name: "p"}
	braked := func(timeout time.Duration) *bench {
		b := newBench(timeout)
		b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...))
		return b
	}
	pass := func(b *bench, after time.Duration) { b.clock.SetTime(b.clock.Now().Add(after)); b.Tick() }
	t.Run("not while it keeps clusters", func(t *testing.T) {
		b := braked(0)
		pass(b, 24*time.Hour)
		expect(t, "brakes", b.Count(), 1)
	})
	t.Run("a minute after the cause went", func(t *testing.T) {
		b := braked(0)
		b.Qualify(key)
		pass(b, time.Minute-1)
		expect(t, "brakes", b.Count(), 1)
		pass(b, 1)
		expect(t, "brakes", b.Count(), 0)
		expect(t, "condition", b.Conditions("a")[0].Status, metav1.ConditionFalse)
		expect(t, "kept afterwards", len(b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...))), 6)
	})
	t.Run("after its timeout", func(t *testing.T) {
		b := braked(time.Hour)
		pass(b, time.Hour)
		expect(t, "brakes", b.Count(), 0)
		expect(t, "woken", b.woken, []fleet.Key{key})
		expect(t, "kept afterwards", b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...)), []string(nil))
	})
	t.Run("when it is released, and not again for ten minutes", func(t *testing.T) {
		b := braked(0)
		set := b.stored("a")
		set.Annotations = map[string]string{clusterv1beta2.BrakeReleasedAnnotation: enginetest.Epoch.Format(time.RFC3339)}
		b.Observe(set)
		expect(t, "brakes", b.Count(), 0)
		expect(t, "woken", b.woken, []fleet.Key{key})
		expect(t, "kept at once", b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...)), []string(nil))
		b.clock.SetTime(enginetest.Epoch.Add(10 * time.Minute))
		expect(t, "kept later", len(b.judge("p", b.leaving(engine.Labels, numbers(0, 6)...))), 6)
	})
	t.Run("for the hub too: what was released counts nowhere", func(t *testing.T) {
		b := braked(0)
		set := b.stored("a")
		set.Annotations = map[string]string{clusterv1beta2.BrakeReleasedAnnotation: enginetest.Epoch.Format(time.RFC3339)}
		b.Observe(set)
		expect(t, "kept of the released set", b.judge("p", b.leaving(engine.Labels, numbers(0, 10)...)), []string(nil))
		expect(t, "kept of another set", b.judge("p", b.leaving(engine.Labels, 10, 11)), []string(nil))
		expect(t, "the brakes of the hub", b.on("global"), []string(nil))
	})
	t.Run("for other sets too", func(t *testing.T) {
		b := braked(0)
		set := b.stored("a")
		set.Annotations = map[string]string{clusterv1beta2.BrakeReleasedAnnotation: enginetest.Epoch.Format(time.RFC3339)}
		b.Observe(set)
		leaving := b.leaving(engine.Labels, numbers(10, 20)...)
		for i := range leaving {
			leaving[i].Sets = []string{"a", "b"}
		}
		expect(t, "kept of clusters that both sets have", b.judge("p", leaving), []string(nil))
		expect(t, "the brakes of b", b.on("b"), []string(nil))
	})
	t.Run("not by a release of a brake before it", func(t *testing.T) {
		b := braked(0)
		set := b.stored("a")
		set.Annotations = map[string]string{clusterv1beta2.BrakeReleasedAnnotation: enginetest.Epoch.Add(-time.Second).Format(time.RFC3339)}
		b.Observe(set)
		expect(t, "brakes", b.Count(), 1)
	})
	t.Run("not by a release in the future", func(t *testing.T) {
		b := braked(0)
		set := b.stored("a")
		set.Annotations = map[string]string{clusterv1beta2.BrakeReleasedAnnotation: enginetest.Epoch.Add(6 * time.Minute).Format(time.RFC3339)}
		b.Observe(set)
		expect(t, "brakes", b.Count(), 1)
	})
	t.Run("not with the process", func(t *testing.T) {
		next := newBench(0)
		next.Observe(braked(0).stored("a"))
		expect(t, "brakes", next.Count(), 1)
		expect(t, "kept", next.judge("p", next.leaving(engine.Labels, 0)), []string{"c00"})
	})
	t.Run("not with a set that is made anew, which gets the condition again", func(t *testing.T) {
		b := braked(0)
		b.changed = nil
		b.Observe(enginetest.Set("a").Obj())
		expect(t, "brakes", b.Count(), 1)
		expect(t, "sets to report", b.changed, []string{"a"})
	})
	t.Run("a stale condition does not bring it back", func(t *testing.T) {
		b := braked(time.Hour)
		stale := b.stored("a")
		pass(b, time.Hour)
		b.Observe(stale)
		expect(t, "brakes", b.Count(), 0)
	})
}

// stored returns a set with the conditions that are reported of it.
func (b *bench) stored(set string) *clusterv1beta2.ManagedClusterSet {
	out := enginetest.Set(set).Obj()
	out.Status.Conditions = b.Conditions(set)
	return out
}
