package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/placement/live"
)

var (
	key   = fleet.Key{Namespace: "ns", Name: "p"}
	start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
)

// fixture is a record of a fleet of clusters a, b and c. The placement selects those with the label fit=yes.
type fixture struct {
	*Record

	t      *testing.T
	clock  *clocktesting.FakeClock
	fleet  *live.Fleet
	stored *live.Stored
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	env := enginetest.Env(t)
	b := &fixture{t: t, clock: clocktesting.NewFakeClock(start)}
	b.Record = New(Options{Clock: b.clock, Env: env})
	b.fleet, b.stored = live.New(env, b.clock, b.AddCause, b.AddCause)
	b.fleet.SetSet(nil, enginetest.Set("sea").Obj())
	b.fleet.SetBinding(&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sea"}})
	for _, name := range []string{"a", "b", "c"} {
		b.setMatching(name, true)
	}
	p := enginetest.Placement("ns", "p").Labels("fit", "yes").Obj()
	p.UID, p.ResourceVersion, p.Generation = "uid", "1", 1
	b.stored.SetPlacement(p)
	b.stored.Ready()
	return b
}

func (f *fixture) setMatching(name string, fit bool) {
	c := enginetest.Cluster(name).In("sea")
	if fit {
		c.Label("fit", "yes")
	}
	f.fleet.SetCluster(c.Obj())
}

// decide decides the placement, and stores the plan if stored is set.
func (f *fixture) decide(stored bool) {
	f.t.Helper()
	c, ok := f.stored.Gather(key, f.clock.Now())
	if !ok {
		f.t.Fatal("nothing to decide")
	}
	defer f.stored.Finish(key, !stored)
	turn := f.Begin(key)
	result := decide(key, c)
	turn.Decided(c, result)
	writes := plan.Diff(result, c.Stored, f.clock.Now())
	if !stored {
		turn.Finish(writes, errors.New("boom"))
		return
	}
	for i, write := range writes.Writes {
		if write.Slice != nil {
			slice := write.Slice.DeepCopy()
			slice.UID, slice.ResourceVersion = "slice", fmt.Sprint(f.clock.Now().UnixNano()+int64(i))
			f.stored.AfterWrite(slice)
			f.stored.SetSlice(slice)
		} else {
			p := write.Placement.DeepCopy()
			p.ResourceVersion = fmt.Sprint(f.clock.Now().UnixNano() + int64(i))
			f.stored.AfterStatusWrite(p)
			f.stored.SetPlacement(p)
		}
	}
	turn.Finish(writes, nil)
}

func (f *fixture) changes(cluster string, since time.Time, hidden ...string) []string {
	f.t.Helper()
	got, err := f.History(key, since, cluster, func(name string) bool { return !slices.Contains(hidden, name) })
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, change := range got.Changes {
		text := ""
		for _, move := range change.Moves {
			sign := "-"
			if move.Added {
				sign = "+"
			}
			before := "unknown"
			if move.Before != nil {
				before = move.Before.Verdict
			}
			text += fmt.Sprintf("%s%s %s->%s; ", sign, move.Cluster, before, move.After.Verdict)
		}
		for _, cause := range change.Causes {
			text += cause.String()
		}
		if change.Hidden > 0 {
			text += fmt.Sprintf(" (%d hidden)", change.Hidden)
		}
		out = append(out, text)
	}
	return out
}

// TestHistory follows a placement: the moved clusters, their verdicts and the causes.
func TestHistory(t *testing.T) {
	b := newFixture(t)
	if _, err := b.History(key, time.Time{}, "", visibleToAll); !errors.Is(err, ErrIdle) {
		t.Errorf("the history of a manager that does not lead: %v", err)
	}
	b.SetLeader(b.stored)
	b.decide(true)
	b.clock.Step(time.Minute)
	b.setMatching("b", false)
	b.decide(true)
	b.clock.Step(time.Minute)
	b.fleet.DeleteCluster(enginetest.Cluster("c").Obj())
	b.decide(false)
	b.setMatching("b", true)
	b.decide(true)
	last := "+b Mismatch->Selected; -c Selected->Gone; ManagedCluster c: deletedManagedCluster b: labels changed"
	second := "-b Selected->Mismatch; ManagedCluster b: labels changed"
	first := "+a unknown->Selected; +b unknown->Selected; +c unknown->Selected; Manager: started"
	for sentence, test := range map[string]struct {
		got, want []string
	}{
		"all of it":      {b.changes("", time.Time{}), []string{last, second, first}},
		"since a minute": {b.changes("", start.Add(time.Minute)), []string{last, second}},
		"one cluster": {b.changes("b", start.Add(time.Second)), []string{
			"+b Mismatch->Selected; ManagedCluster c: deletedManagedCluster b: labels changed", second,
		}},
		"without what is hidden": {b.changes("", start.Add(time.Second), "b"), []string{
			"-c Selected->Gone; ManagedCluster c: deletedManagedCluster: labels changed (1 hidden)", "ManagedCluster: labels changed (1 hidden)",
		}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// TestRegroupingIsOneEntry covers clusters that leave a group above its bound. They are one entry of the history, beside
// the clusters that moved in the same decision. A reader who may not see them gets their number. The entry is found by
// each of them.
func TestRegroupingIsOneEntry(t *testing.T) {
	b := newFixture(t)
	b.SetLeader(b.stored)
	b.decide(true)
	b.clock.Step(time.Minute)
	c, _ := b.stored.Peek(key, b.clock.Now())
	turn := b.Begin(key)
	turn.Decided(c, decide(key, c))
	change := turn.Finish(plan.Plan{Removed: []string{"x"}, Regrouped: []string{"b", "c"}}, nil).Change
	if fields := fmt.Sprint(change.Fields()); !strings.Contains(fields, "regroupedClusters [b c]") {
		t.Errorf("fields %s", fields)
	}
	for sentence, test := range map[string]struct {
		cluster string
		hidden  []string
		want    string
	}{
		"all of it":              {want: "1 removed, 2 regrouped: [b c], 0 hidden"},
		"without what is hidden": {hidden: []string{"b"}, want: "1 removed, 2 regrouped: [c], 1 hidden"},
		"one of them":            {cluster: "c", want: "1 removed, 2 regrouped: [c], 0 hidden"},
	} {
		got, err := b.History(key, start.Add(time.Second), test.cluster, func(name string) bool { return !slices.Contains(test.hidden, name) })
		if err != nil || len(got.Changes) != 1 {
			t.Fatalf("%s: %d changes, error %v, want one", sentence, len(got.Changes), err)
		}
		one := got.Changes[0]
		if text := fmt.Sprintf("%d removed, %d regrouped: %v, %d hidden", one.Removed, one.Regrouped, one.RegroupedClusters, one.Hidden); text !=
			test.want {
			t.Errorf("%s: %s, want %s", sentence, text, test.want)
		}
	}
	if got, _ := b.History(key, start.Add(time.Second), "a", visibleToAll); len(got.Changes) != 0 {
		t.Errorf("the history of a cluster that stayed has %d changes", len(got.Changes))
	}
}

// TestRestoredSlices covers clusters whose slice another client deleted. They are neither added nor removed in the
// history, and the entry has the reason why others changed their group.
func TestRestoredSlices(t *testing.T) {
	b := newFixture(t)
	b.SetLeader(b.stored)
	b.decide(true)
	b.clock.Step(time.Minute)
	c, _ := b.stored.Peek(key, b.clock.Now())
	turn := b.Begin(key)
	turn.Decided(c, decide(key, c))
	change := turn.Finish(plan.Plan{
		Added: []string{"a", "b"}, Restored: []string{"b"}, Regrouped: []string{"c"}, RegroupReason: plan.RegroupStrategy,
	}, nil).Change
	if fields := fmt.Sprint(change.Fields()); !strings.Contains(fields, "addedClusters [a]") ||
		!strings.Contains(fields, "restoredClusters [b]") {
		t.Errorf("fields %s", fields)
	}
	got, err := b.History(key, start.Add(time.Second), "", visibleToAll)
	if err != nil || len(got.Changes) != 1 {
		t.Fatalf("%d changes, error %v, want one", len(got.Changes), err)
	}
	one := got.Changes[0]
	text := fmt.Sprintf("%d added, %d restored, %d removed, %d regrouped: %s", one.Added, one.Restored, one.Removed, one.Regrouped,
		one.RegroupReason)
	if want := "1 added, 1 restored, 0 removed, 1 regrouped: spec.decisionStrategy changed"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if moves := fmt.Sprintf("%s %t %t, %s %t %t", one.Moves[0].Cluster, one.Moves[0].Added, one.Moves[0].Restored,
		one.Moves[1].Cluster, one.Moves[1].Added, one.Moves[1].Restored); len(one.Moves) != 2 || moves != "a true false, b false true" {
		t.Errorf("moves %s", moves)
	}
}

// TestExplain covers the run that decided, a run that is computed again, and how the stored decisions differ from each.
func TestExplain(t *testing.T) {
	b := newFixture(t)
	b.SetLeader(b.stored)
	check := func(sentence string, replayed bool, stale string, chosen ...string) {
		t.Helper()
		got, err := b.Explain(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		explanation := got.Explanation(nil)
		if explanation.Replayed != replayed || !strings.HasPrefix(explanation.Stale, stale) || (stale == "") != (explanation.Stale == "") ||
			!slices.Equal(explanation.Chosen(), chosen) {
			t.Errorf("%s: replayed %t, stale %q, selects %v", sentence, explanation.Replayed, explanation.Stale, explanation.Chosen())
		}
	}
	check("before it is decided", true, "the stored decisions lag behind: they lack 3 ", "a", "b", "c")
	b.decide(true)
	check("decided and stored", false, "", "a", "b", "c")
	b.setMatching("b", false)
	check("before it is decided again", false, "", "a", "b", "c")
	b.decide(false)
	check("decided and not stored", false, "the stored decisions lag behind: they lack 0 selected clusters and hold 1 ", "a", "c")
	b.clock.Step(time.Second)
	b.decide(true)
	b.runs.remove(key)
	check("stored, and the run not known", true, "", "a", "c")
	b.clock.Step(time.Second)
	b.decide(true)
	check("stored again", false, "", "a", "c")
	b.setMatching("d", false)
	check("a cluster came that the placement does not match", true, "", "a", "c")
	late, err := b.Explain(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := late.Cluster("d", visibleToAll); !ok || found.Verdict != "Mismatch" {
		t.Errorf("the cluster that came is explained %t by %+v, want Mismatch", ok, found)
	}
	if _, err := b.Explain(t.Context(), fleet.Key{Namespace: "ns", Name: "q"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("a placement that is not there: %v", err)
	}
}

// TestExplainFollowsAClusterFromSetToSet moves a cluster that no label lets the placement select: no move of it starts a decision.
func TestExplainFollowsAClusterFromSetToSet(t *testing.T) {
	b := newFixture(t)
	for _, set := range []string{"sky", "lake"} {
		b.fleet.SetSet(nil, enginetest.Set(set).Obj())
	}
	b.fleet.SetBinding(&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sky"}})
	b.SetLeader(b.stored)
	b.fleet.SetCluster(enginetest.Cluster("d").In("lake").Obj())
	b.decide(true)
	b.clock.Step(time.Second)
	b.decide(true)
	for _, step := range []struct{ set, verdict, sets string }{
		{"lake", "OutsideSets", ""}, {"sea", "Mismatch", "sea"}, {"sky", "Mismatch", "sky"}, {"lake", "OutsideSets", ""},
	} {
		b.fleet.SetCluster(enginetest.Cluster("d").In(step.set).Obj())
		got, err := b.Explain(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		found, ok := got.Cluster("d", visibleToAll)
		if !ok || found.Verdict != step.verdict || strings.Join(found.Sets, ",") != step.sets {
			t.Errorf("in the set %s the cluster is %s of the sets %v, want %s of %s", step.set, found.Verdict, found.Sets, step.verdict, step.sets)
		}
	}
}

// TestExplainWhileADefinitionIsMissing: nothing is decided then, and a grace that is shown does not run.
func TestExplainWhileADefinitionIsMissing(t *testing.T) {
	b, missing := newFixture(t), false
	b.stored.KeepWhile(func() bool { return missing })
	b.SetLeader(b.stored)
	b.decide(true)
	for _, missing = range []bool{true, false} {
		got, err := b.Explain(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if waits := strings.Contains(got.Stale, "every grace waits"); waits != missing || !missing && got.Stale != "" {
			t.Errorf("a definition is missing: %t, and the answer is stale by %q", missing, got.Stale)
		}
	}
}

// TestTryIsBounded by what it takes to run all expressions, which is known before one is compiled.
func TestTryIsBounded(t *testing.T) {
	b := newFixture(t)
	b.SetLeader(b.stored)
	const all = "true"
	one := enginetest.Placement("ns", "q").CEL(all).Obj()
	if got, err := b.Try(t.Context(), one); err != nil || got.Result.Selected != 3 {
		t.Errorf("one expression: %+v, error %v", got, err)
	}
	million := clusterv1beta1.ClusterCelSelector{CelExpressions: slices.Repeat([]string{all}, maxEvaluations)}
	predicate, tier, group := one.DeepCopy(), one.DeepCopy(), one.DeepCopy()
	predicate.Spec.Predicates[0].RequiredClusterSelector.CelSelector = million
	tier.Spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "first", ClusterSelector: clusterv1beta1.ClusterSelector{CelSelector: million}}}
	group.Spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{{
		GroupName: "first", ClusterSelector: clusterv1beta1.GroupClusterSelector{CelSelector: million},
	}}
	for where, placement := range map[string]*clusterv1beta1.Placement{"a predicate": predicate, "a tier": tier, "a group": group} {
		if _, err := b.Try(t.Context(), placement); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "the limit is") {
			t.Errorf("a million expressions in %s: error %v", where, err)
		}
	}
}

func TestRunsAreBounded(t *testing.T) {
	b := newFixture(t)
	c, _ := b.stored.Peek(key, start)
	run := Run{Placement: c.Stored.Placement, Result: decide(key, c)}
	each := cellCount(run.Result)
	r := newRunCache(3*each+each/2, maxAge)
	name := func(i int) fleet.Key { return fleet.Key{Name: fmt.Sprint(i)} }
	for i := range 3 {
		r.put(name(i), run, run)
	}
	r.last(name(0)) // is thereby used
	r.put(name(3), run, run)
	r.put(name(3), run, run)
	var held []int
	for i := range 4 {
		if _, ok := r.last(name(i)); ok {
			held = append(held, i)
		}
	}
	if diff := cmp.Diff([]int{0, 2, 3}, held); diff != "" || r.cells != 3*each || r.order.Len() != 3 {
		t.Errorf("%d cells in %d runs (-want +got):\n%s", r.cells, r.order.Len(), diff)
	}
	small := newRunCache(each-1, maxAge)
	if small.put(name(0), run, run); small.cells != 0 || len(small.entries) != 0 {
		t.Error("a run is held for which there is no room")
	}
}

// TestOldRunsAreDropped decides new placements, and a placement that is never stored again, while the fleet changes. It
// counts the versions of clusters that are held.
func TestOldRunsAreDropped(t *testing.T) {
	b := newFixture(t)
	const behind, decisions = 90, 100
	r := newRunCache(maxCells, behind)
	name := func(i int) fleet.Key { return fleet.Key{Name: fmt.Sprint(i)} }
	for i := range decisions {
		for _, cluster := range []string{"a", "b", "c"} {
			b.setMatching(cluster, true)
		}
		c, _ := b.stored.Peek(key, start)
		run := Run{Placement: c.Stored.Placement, Result: decide(key, c), changes: c.Changes}
		r.put(name(i), run, run)
		r.put(name(0), run, r.stored(name(0)))
		if versions := distinctSnapshots(r); versions > behind+3 {
			t.Fatalf("after %d decisions %d versions of 3 clusters are held, want at most %d beside one of each", i+1, versions, behind)
		}
	}
	if held := len(r.entries); held < behind/2/3 || held > behind/3+1 || r.order.Len() != held {
		t.Errorf("%d runs are held, want those of the last %d to %d changes", held, behind/2, behind)
	}
	if _, ok := r.last(name(decisions - 1)); !ok {
		t.Error("the last run of all is not held")
	}
}

// distinctSnapshots returns how many versions of clusters are held.
func distinctSnapshots(r *runCache) int {
	out := map[*fleet.Cluster]bool{}
	for _, element := range r.entries {
		for _, held := range []Run{cachedRunOf(element).last, cachedRunOf(element).stored} {
			if held.Result == nil {
				continue
			}
			for _, cluster := range held.Result.Trace.Snapshot.Clusters() {
				out[cluster] = true
			}
		}
	}
	return len(out)
}

func TestHistoryIsBounded(t *testing.T) {
	h := newHistory(120, 1<<20)
	one := func(i int) *Change {
		return &Change{At: start.Add(time.Duration(i) * time.Second), Moves: []Move{{Cluster: "a"}}}
	}
	for i := range 200 {
		h.add(fleet.Key{Name: fmt.Sprint(i % 3)}, one(i))
	}
	total, size := 0, 0
	for i := range 3 {
		changes, dropped := h.changes(fleet.Key{Name: fmt.Sprint(i)}, time.Time{})
		total += len(changes)
		if len(changes) > maxPerPlacement || len(changes)+dropped < 66 {
			t.Errorf("placement %d has %d changes, and %d are dropped", i, len(changes), dropped)
		}
		if !slices.IsSortedFunc(changes, func(a, b *Change) int { return b.At.Compare(a.At) }) {
			t.Errorf("placement %d: not the latest first", i)
		}
		for _, change := range changes {
			size += change.size()
		}
	}
	if total != 120 || h.order.Len() != total || h.bytes != size {
		t.Errorf("%d changes are kept, in %d bytes and not %d", total, h.bytes, size)
	}
	few := newHistory(120, 3*one(0).size())
	for i := range 10 {
		few.add(fleet.Key{Name: fmt.Sprint(i)}, one(i))
	}
	if few.order.Len() != 3 || len(few.past) != 3 {
		t.Errorf("%d changes of %d placements are kept, want as many as there is room for", few.order.Len(), len(few.past))
	}
}

func TestCausesAreMerged(t *testing.T) {
	c := newPendingCauses()
	cause := func(i int) explain.Cause { return explain.Cause{Kind: "ManagedCluster", Name: fmt.Sprint(i)} }
	for i := range 7 {
		c.add(key, cause(i), start.Add(time.Duration(i)*time.Second))
		c.add(key, cause(0), start.Add(time.Duration(i)*time.Second))
	}
	taken := c.take(key)
	if len(taken.named) != maxCauses || taken.named[0] != cause(0) || taken.more != 3 || !taken.since.Equal(start) {
		t.Errorf("taken: %+v", taken)
	}
	c.add(key, cause(9), start.Add(time.Hour))
	c.putBack(key, taken)
	if again := c.take(key); again.named[0] != cause(0) || again.more != 4 || !again.since.Equal(start) {
		t.Errorf("restored: %+v", again)
	}
	if rest := c.take(key); len(rest.named) > 0 || len(c.pending) > 0 {
		t.Errorf("left: %+v", rest)
	}
}

func TestConcurrentUse(t *testing.T) {
	b := newFixture(t)
	b.SetLeader(b.stored)
	b.decide(true)
	c, _ := b.stored.Peek(key, start)
	result := decide(key, c)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 100 {
				of := fleet.Key{Namespace: "ns", Name: fmt.Sprint(worker, i%5)}
				b.AddCause(of, explain.Cause{Kind: "Placement"})
				turn := b.Begin(of)
				turn.Decided(c, result)
				turn.Finish(plan.Plan{Added: []string{"a"}}, nil)
				b.Remove(of)
			}
		})
		all.Go(func() {
			for range 20 {
				if _, err := b.Explain(t.Context(), key); err != nil {
					t.Error(err)
				}
				b.changes("", time.Time{})
			}
		})
	}
	all.Wait()
}
