package live

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/when"
)

const (
	testGrace = 15 * time.Second
	testHold  = time.Hour
)

// hub is a hub with its objects, and a manager that decides them. It counts the writes of the manager.
type hub struct {
	*Fleet
	*Stored
	state   *enginetest.State
	clock   *clocktesting.FakeClock
	env     *celenv.Env
	version int
	writes  int
	// queued are the placements that a change has enqueued, and again when others are decided though nothing changes.
	queued map[fleet.Key]bool
	again  map[fleet.Key]time.Time
}

// newHub returns a hub with clusters c1 to c6, in the sets sea and sky, and four placements in ns, decided.
func newHub(t testing.TB) *hub {
	t.Helper()
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{state: enginetest.NewState(), clock: clocktesting.NewFakeClock(enginetest.Epoch), env: env}
	h.restart()
	for _, set := range []string{"sea", "sky"} {
		h.addSet(set)
		h.bind(set)
	}
	for i := range 6 {
		h.put(enginetest.Cluster(fmt.Sprint("c", i+1)).In([]string{"sea", "sky"}[i%2]).Label("env", "live").Claim("platform", "cloud").Obj())
	}
	byLabel := enginetest.Placement("ns", "label").Obj()
	byLabel.Spec.Predicates = []clusterv1beta1.ClusterPredicate{
		{RequiredClusterSelector: clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("env", "live")}},
	}
	byClaim := enginetest.Placement("ns", "claim").Obj()
	byClaim.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{`managedCluster.claim("platform") == "cloud"`}},
	}}}
	two := enginetest.Placement("ns", "two").Obj()
	two.Spec.NumberOfClusters = new(int32(2))
	for _, p := range []*clusterv1beta1.Placement{enginetest.Placement("ns", "all").Obj(), byLabel, byClaim, two} {
		h.place(p)
	}
	h.decide(t)
	h.writes = 0
	return h
}

// restart replaces the manager by another, which has read the hub.
func (h *hub) restart() {
	h.queued, h.again = map[fleet.Key]bool{}, map[fleet.Key]time.Time{}
	enqueue := func(key fleet.Key, _ explain.Cause) { h.queued[key] = true }
	h.Fleet, h.Stored = New(h.env, h.clock, enqueue, enqueue)
	h.HoldWithdrawals(testGrace)
	h.SetRules(fleet.Rules{HoldEmptyingEdits: true, HoldUnknownReferences: true, ExpressionHold: testHold})
	for _, cluster := range h.state.Clusters {
		h.SetCluster(cluster)
	}
	for _, set := range h.state.Sets {
		h.SetSet(nil, set)
	}
	for namespace, sets := range h.state.Bindings {
		for set := range sets {
			h.SetBinding(bindingIn(namespace, set))
		}
	}
	for _, p := range h.state.Placements {
		h.SetPlacement(p)
	}
	for _, s := range h.state.Slices {
		h.SetSlice(s)
	}
	for _, score := range h.state.Scores {
		h.SetScore(score)
	}
	h.Ready()
}

func bindingIn(namespace, set string) *clusterv1beta2.ManagedClusterSetBinding {
	out := binding(set)
	out.Namespace = namespace
	return out
}

func (h *hub) stamp() string {
	h.version++
	return fmt.Sprint(h.version)
}

func (h *hub) put(c *clusterv1.ManagedCluster) {
	c.ResourceVersion = h.stamp()
	h.state.Add(c)
	h.SetCluster(c)
}

func (h *hub) addSet(name string) {
	set := enginetest.Set(name).Obj()
	h.state.Add(set)
	h.SetSet(nil, set)
}

func (h *hub) deleteSet(name string) {
	set := h.state.Sets[name]
	delete(h.state.Sets, name)
	h.DeleteSet(set)
}

func (h *hub) bind(set string) {
	h.state.Bind("ns", set)
	h.SetBinding(binding(set))
}

func (h *hub) unbind(set string) {
	delete(h.state.Bindings["ns"], set)
	h.DeleteBinding(binding(set))
}

func (h *hub) place(p *clusterv1beta1.Placement) {
	p.ResourceVersion, p.Generation = h.stamp(), p.Generation+1
	if p.UID == "" {
		p.UID = types.UID("uid-" + p.ResourceVersion)
	}
	h.state.Add(p)
	h.SetPlacement(p)
}

// unplace deletes a placement, and its slices as the garbage collector does.
func (h *hub) unplace(key fleet.Key) *clusterv1beta1.Placement {
	p := h.state.Placements[key]
	slices := h.state.SlicesOf(key)
	delete(h.state.Placements, key)
	h.DeletePlacement(p)
	for _, s := range slices {
		delete(h.state.Slices, sliceKey(s))
		h.DeleteSlice(s)
	}
	return p
}

// decide decides what is enqueued or due until nothing is. No other placement may have another decision then.
func (h *hub) decide(t testing.TB) {
	t.Helper()
	const rounds = 20
	for round := 0; ; round++ {
		var keys []fleet.Key
		for _, key := range h.state.Keys() {
			if at := h.again[key]; h.queued[key] || !at.IsZero() && !at.After(h.clock.Now()) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			break
		}
		if round == rounds {
			t.Fatalf("the decisions do not settle: %v", keys)
		}
		clear(h.queued)
		for _, key := range keys {
			h.writes += h.decideOne(key)
		}
	}
	before := h.decisions()
	for _, key := range h.state.Keys() {
		h.writes += h.decideOne(key)
	}
	if diff := cmp.Diff(before, h.decisions()); diff != "" {
		t.Errorf("placements have other decisions, and were not enqueued (-before +after):\n%s", diff)
	}
}

func (h *hub) decideOne(key fleet.Key) int {
	input, ok := h.Gather(key, h.clock.Now())
	if !ok {
		return 0
	}
	result := engine.Decide(input.Snapshot, key, input.Program, input.Faults, input.Ledger())
	h.Decided(key, result, nil, h.clock.Now())
	writes := plan.Diff(result, input.Stored, h.clock.Now())
	for _, write := range writes.Writes {
		h.apply(write)
	}
	h.AfterApply(input.Stored, writes)
	h.Finish(key, false)
	h.again[key] = when.Earliest(result.RecheckAt, writes.RecheckAt)
	return len(writes.Writes)
}

// apply stores a write, and shows it to the manager.
func (h *hub) apply(write plan.Write) {
	if write.Placement != nil {
		p := write.Placement.DeepCopy()
		p.ResourceVersion = h.stamp()
		h.state.Add(p)
		h.AfterStatusWrite(p)
		h.SetPlacement(p)
		return
	}
	h.state.Apply(write)
	name := sliceKey(write.Slice)
	stored, exists := h.state.Slices[name]
	if !exists {
		h.AfterDelete(write.Slice)
		h.DeleteSlice(write.Slice)
		return
	}
	s := stored.DeepCopy()
	s.ResourceVersion, s.UID = h.stamp(), types.UID("uid-"+s.Name)
	h.state.Slices[name] = s
	h.AfterWrite(s)
	h.SetSlice(s)
}

// passGrace decides, and lets the graces that have begun end.
func (h *hub) passGrace(t testing.TB) {
	t.Helper()
	h.decide(t)
	h.clock.Step(testGrace)
	h.endGraces()
}

// endGraces ends what is due, as the live read of a manager does.
func (h *hub) endGraces() {
	found := Found{Sets: map[string]bool{}, Bindings: map[fleet.Key]bool{}, Clusters: h.state.Clusters}
	for name := range h.state.Sets {
		found.Sets[name] = true
	}
	for namespace, sets := range h.state.Bindings {
		for set := range sets {
			found.Bindings[fleet.Key{Namespace: namespace, Name: set}] = true
		}
	}
	h.EndWithdrawals(h.DueWithdrawals(h.clock.Now()), found, h.clock.Now(), h.clock.Now().Add(time.Second))
}

// decisions returns the selected clusters of every placement.
func (h *hub) decisions() map[string][]string {
	out := map[string][]string{}
	for _, key := range h.state.Keys() {
		var clusters []string
		for _, s := range h.state.SlicesOf(key) {
			clusters = append(clusters, plan.Clusters(s)...)
		}
		slices.Sort(clusters)
		out[key.Name] = clusters
	}
	return out
}

// withdrawn takes something away from a hub, and returns what puts it back.
type withdrawn func(h *hub) (putBack func())

func drawWithdrawal(r *rapid.T) (what string, do withdrawn) {
	set := rapid.SampledFrom([]string{"sea", "sky"}).Draw(r, "set")
	change := func(edit func(*clusterv1.ManagedCluster)) withdrawn {
		return func(h *hub) func() {
			names := slices.Sorted(maps.Keys(h.state.Clusters))
			if rapid.Bool().Draw(r, "one cluster") {
				names = names[:1]
			}
			var before []*clusterv1.ManagedCluster
			for _, name := range names {
				before = append(before, h.state.Clusters[name])
				after := h.state.Clusters[name].DeepCopy()
				edit(after)
				h.put(after)
			}
			return func() {
				for _, c := range before {
					h.put(c.DeepCopy())
				}
			}
		}
	}
	all := map[string]withdrawn{
		"delete a set":                  func(h *hub) func() { h.deleteSet(set); return func() { h.addSet(set) } },
		"delete a binding":              func(h *hub) func() { h.unbind(set); return func() { h.bind(set) } },
		"take the label of the set off": change(func(c *clusterv1.ManagedCluster) { delete(c.Labels, clusterv1beta2.ClusterSetLabel) }),
		"move to another set":           change(func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1beta2.ClusterSetLabel] = set }),
		"take a label off":              change(func(c *clusterv1.ManagedCluster) { delete(c.Labels, "env") }),
		"give a label another value":    change(func(c *clusterv1.ManagedCluster) { c.Labels["env"] = "live2" }),
		"report no claim":               change(func(c *clusterv1.ManagedCluster) { c.Status.ClusterClaims = nil }),
	}
	what = rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(r, "what")
	return what, all[what]
}

// TestWhatComesBackWithinTheGraceMovesNothing takes something away, decides, and puts it back.
func TestWhatComesBackWithinTheGraceMovesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHub(t)
		want := h.decisions()
		for range rapid.IntRange(1, 4).Draw(r, "withdrawals") {
			what, withdraw := drawWithdrawal(r)
			putBack := withdraw(h)
			for range rapid.IntRange(1, 3).Draw(r, "decisions") {
				h.decide(t)
				h.clock.Step(time.Duration(rapid.IntRange(0, 1500).Draw(r, "ms")) * time.Millisecond)
				h.endGraces()
			}
			putBack()
			h.decide(t)
			if diff := cmp.Diff(want, h.decisions()); diff != "" || h.writes > 0 {
				r.Fatalf("%s: %d writes, decisions (-before +after):\n%s", what, h.writes, diff)
			}
		}
	})
}

// TestWhatStaysAwayLeavesAfterTheGrace compares the decisions after the grace with those of a manager that starts later.
func TestWhatStaysAwayLeavesAfterTheGrace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHub(t)
		what, withdraw := drawWithdrawal(r)
		withdraw(h)
		h.decide(t)
		if h.writes > 0 {
			r.Fatalf("%s: %d writes within the grace", what, h.writes)
		}
		h.clock.Step(testGrace)
		h.endGraces()
		h.decide(t)
		got := h.decisions()
		h.restart()
		h.clock.Step(2 * testGrace)
		h.endGraces()
		h.decide(t)
		if diff := cmp.Diff(got, h.decisions()); diff != "" {
			r.Fatalf("%s: decisions (-after the grace +as stored):\n%s", what, diff)
		}
		for name, clusters := range got {
			for _, cluster := range clusters {
				if id, known := h.snapshot.ID(cluster); !known || h.snapshot.Cluster(id).Withdrawing() {
					r.Errorf("%s: %s still has %s", what, name, cluster)
				}
			}
		}
		gone := map[string]string{
			"delete a set": "all", "delete a binding": "all", "take the label of the set off": "all", "take a label off": "label",
			"give a label another value": "label",
		}[what]
		if gone != "" && len(got[gone]) == 6 {
			r.Errorf("%s: %s still has 6 clusters", what, gone)
		}
	})
}

// TestARestartWhileNothingCanBeDecided loses labels while no manager runs, so that the expression fails on every cluster. Once it does not
// any more, the clusters that still lack the label stay for the grace.
func TestARestartWhileNothingCanBeDecided(t *testing.T) {
	h, key := newHub(t), fleet.Key{Namespace: "ns", Name: "expression"}
	p := enginetest.Placement(key.Namespace, key.Name).Obj()
	p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
		CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{`managedCluster.metadata.labels.env == "live"`}},
	}}}
	h.place(p)
	h.decide(t)
	for i := range 6 {
		name := fmt.Sprint("c", i+1)
		without := h.state.Clusters[name].DeepCopy()
		delete(without.Labels, "env")
		h.state.Add(without)
	}
	h.restart()
	h.decide(t)
	with := h.state.Clusters["c1"].DeepCopy()
	with.Labels["env"] = "live"
	h.put(with)
	h.decide(t)
	if got := h.decisions()[key.Name]; len(got) != 6 {
		t.Errorf("selected: %v, want six clusters", got)
	}
	h.clock.Step(testGrace)
	h.endGraces()
	h.decide(t)
	if diff := cmp.Diff([]string{"c1"}, h.decisions()[key.Name]); diff != "" {
		t.Errorf("selected after the grace (-want +got):\n%s", diff)
	}
}

func TestWithdrawals(t *testing.T) {
	all := fleet.Key{Namespace: "ns", Name: "all"}
	for name, test := range map[string]struct {
		do   func(h *hub)
		want []string
	}{
		"no newcomer by a set that is being withdrawn": {func(h *hub) {
			h.deleteSet("sea")
			h.put(enginetest.Cluster("c7").In("sea").Obj())
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"no newcomer by a binding that is being withdrawn": {func(h *hub) {
			h.unbind("sea")
			h.put(enginetest.Cluster("c7").In("sea").Obj())
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"a newcomer by another set": {func(h *hub) {
			h.deleteSet("sea")
			h.put(enginetest.Cluster("c7").In("sky").Obj())
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7"}},
		"a deleted cluster leaves at once": {func(h *hub) {
			h.unbind("sea")
			delete(h.state.Clusters, "c1")
			h.DeleteCluster(enginetest.Cluster("c1").Obj())
		}, []string{"c2", "c3", "c4", "c5", "c6"}},
		"a taint counts at once": {func(h *hub) {
			h.put(enginetest.Cluster("c1").Taint("k", "NoSelect", enginetest.Epoch).Obj())
		}, []string{"c2", "c3", "c4", "c5", "c6"}},
		"a revoked binding": {func(h *hub) {
			revoked := binding("sea")
			revoked.Annotations = map[string]string{clusterv1beta2.RevokedAnnotation: "true"}
			delete(h.state.Bindings["ns"], "sea")
			h.DeleteBinding(revoked)
			h.endGraces()
		}, []string{"c2", "c4", "c6"}},
		"a revoked set": {func(h *hub) {
			revoked := h.state.Sets["sea"].DeepCopy()
			revoked.Annotations = map[string]string{clusterv1beta2.RevokedAnnotation: "true"}
			delete(h.state.Sets, "sea")
			h.DeleteSet(revoked)
			h.endGraces()
		}, []string{"c2", "c4", "c6"}},
		"a cluster that is revoked from its set": {func(h *hub) {
			c := enginetest.Cluster("c1").Label("env", "live").Obj()
			c.Annotations = map[string]string{clusterv1beta2.RevokedSetAnnotation: "sea/1"}
			h.put(c)
			h.endGraces()
		}, []string{"c2", "c3", "c4", "c5", "c6"}},
		"a revocation within the grace after a restart": {func(h *hub) {
			h.restart()
			h.decide(t)
			c := enginetest.Cluster("c1").Label("env", "live").Obj()
			c.Annotations = map[string]string{clusterv1beta2.RevokedSetAnnotation: "sea/1"}
			h.put(c)
			h.endGraces()
		}, []string{"c2", "c3", "c4", "c5", "c6"}},
		"an old revocation counts no more": {func(h *hub) {
			c := h.state.Clusters["c1"].DeepCopy()
			c.Annotations = map[string]string{clusterv1beta2.RevokedSetAnnotation: "sea/1"}
			h.put(c)
			c = c.DeepCopy()
			delete(c.Labels, clusterv1beta2.ClusterSetLabel)
			h.put(c)
			h.endGraces()
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"a label and the placement that selects by it change together": {func(h *hub) {
			for _, name := range slices.Sorted(maps.Keys(h.state.Clusters)) {
				c := h.state.Clusters[name].DeepCopy()
				c.Labels["env"] = "new"
				h.put(c)
			}
			p := h.state.Placements[all].DeepCopy()
			p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				LabelSelector: enginetest.LabelIs("env", "new"),
			}}}
			h.place(p)
			h.decide(t)
			h.clock.Step(testGrace)
			h.endGraces()
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"a set is renamed, with its label, its binding and the placement": {func(h *hub) {
			h.addSet("lake")
			h.bind("lake")
			for _, name := range slices.Sorted(maps.Keys(h.state.Clusters)) {
				c := h.state.Clusters[name].DeepCopy()
				c.Labels[clusterv1beta2.ClusterSetLabel] = "lake"
				h.put(c)
				h.decide(t)
			}
			p := h.state.Placements[all].DeepCopy()
			p.Spec.ClusterSets = []string{"lake"}
			h.place(p)
			h.decide(t)
			for _, c := range h.state.Placements[all].Status.Conditions {
				if c.Type == clusterv1beta1.PlacementConditionSatisfied && c.Reason != clusterv1beta1.ReasonAllDecisionsScheduled {
					t.Errorf("%s within the grace, with %d clusters", c.Reason, len(h.decisions()["all"]))
				}
			}
			h.unbind("sea")
			h.deleteSet("sea")
			h.decide(t)
			h.clock.Step(testGrace)
			h.endGraces()
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"a placement is edited within a grace": {func(h *hub) {
			h.deleteSet("sea")
			p := h.state.Placements[all].DeepCopy()
			p.Spec.ClusterSets = []string{"sky"}
			h.place(p)
		}, []string{"c2", "c4", "c6"}},
		"a placement is made anew": {func(h *hub) {
			p := h.unplace(all).DeepCopy()
			for name := range h.state.Clusters {
				h.put(enginetest.Cluster(name).In(h.state.Clusters[name].Labels[clusterv1beta2.ClusterSetLabel]).Taint("k", "NoSelectIfNew",
					enginetest.Epoch).Obj())
			}
			h.decide(t)
			p.UID, p.Generation, p.Status = "", 0, clusterv1beta1.PlacementStatus{}
			h.clock.Step(testGrace - 1)
			h.place(p)
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"a placement that a new process has not decided is made anew, and its slices go first": {func(h *hub) {
			h.restart()
			for _, s := range h.state.SlicesOf(all) {
				delete(h.state.Slices, sliceKey(s))
				h.DeleteSlice(s)
			}
			p := h.unplace(all).DeepCopy()
			for name := range h.state.Clusters {
				h.put(enginetest.Cluster(name).In(h.state.Clusters[name].Labels[clusterv1beta2.ClusterSetLabel]).Taint("k", "NoSelectIfNew",
					enginetest.Epoch).Obj())
			}
			p.UID, p.Generation, p.Status = "", 0, clusterv1beta1.PlacementStatus{}
			h.place(p)
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"a placement is made anew after the grace": {func(h *hub) {
			p := h.unplace(all).DeepCopy()
			for name := range h.state.Clusters {
				h.put(enginetest.Cluster(name).In(h.state.Clusters[name].Labels[clusterv1beta2.ClusterSetLabel]).Taint("k", "NoSelectIfNew",
					enginetest.Epoch).Obj())
			}
			p.UID, p.Generation, p.Status = "", 0, clusterv1beta1.PlacementStatus{}
			h.clock.Step(testGrace)
			h.place(p)
		}, nil},
		"the manager restarts within a grace": {func(h *hub) {
			h.deleteSet("sea")
			h.clock.Step(testGrace - 1)
			h.restart()
			h.decide(t)
			h.clock.Step(testGrace - 1)
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"the grace after a restart ends": {func(h *hub) {
			h.deleteSet("sea")
			h.restart()
			h.decide(t)
			h.clock.Step(testGrace)
			h.endGraces()
		}, []string{"c2", "c4", "c6"}},
		"the placement was edited while no manager ran": {func(h *hub) {
			p := h.state.Placements[all].DeepCopy()
			p.Spec.ClusterSets = []string{"sky"}
			h.place(p)
			h.restart()
		}, []string{"c2", "c4", "c6"}},
		"a set that is deleted again while the first deletion is confirmed": {func(h *hub) {
			h.deleteSet("sea")
			h.clock.Step(testGrace)
			due := h.DueWithdrawals(h.clock.Now())
			h.addSet("sea")
			h.deleteSet("sea")
			h.EndWithdrawals(due, Found{}, h.clock.Now(), h.clock.Now())
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"the same of a binding": {func(h *hub) {
			h.unbind("sea")
			h.clock.Step(testGrace)
			due := h.DueWithdrawals(h.clock.Now())
			h.bind("sea")
			h.unbind("sea")
			h.EndWithdrawals(due, Found{}, h.clock.Now(), h.clock.Now())
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"the live read finds the set again": {func(h *hub) {
			set := h.state.Sets["sea"]
			h.DeleteSet(set) // the cache is behind
			h.clock.Step(testGrace)
			h.endGraces()
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
		"the live read finds a label again": {func(h *hub) {
			stored := h.state.Clusters["c1"]
			old := stored.DeepCopy()
			delete(old.Labels, clusterv1beta2.ClusterSetLabel)
			h.SetCluster(old)
			h.clock.Step(testGrace)
			h.endGraces()
		}, []string{"c1", "c2", "c3", "c4", "c5", "c6"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			test.do(h)
			h.decide(t)
			if diff := cmp.Diff(test.want, h.decisions()["all"]); diff != "" {
				t.Errorf("clusters of the placement (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnEditThatEmptiesAPlacementIsHeld edits the placement "all", which has six clusters.
func TestAnEditThatEmptiesAPlacementIsHeld(t *testing.T) {
	all := fleet.Key{Namespace: "ns", Name: "all"}
	six := []string{"c1", "c2", "c3", "c4", "c5", "c6"}
	edit := func(h *hub, change func(*clusterv1beta1.Placement)) {
		p := h.state.Placements[all].DeepCopy()
		change(p)
		h.place(p)
		h.decide(t)
	}
	typo := func(p *clusterv1beta1.Placement) {
		p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: enginetest.LabelIs("env", "lvie"),
		}}}
	}
	annotate := func(h *hub, key, value string) { // no edit: the generation stays
		p := h.state.Placements[all].DeepCopy()
		p.Annotations, p.Generation = map[string]string{key: value}, p.Generation-1
		h.place(p)
		h.decide(t)
	}
	for name, test := range map[string]struct {
		do   func(h *hub)
		want []string
		held bool
	}{
		"an edit that matches nothing": {func(h *hub) { edit(h, typo) }, six, true},
		"a restart keeps the hold":     {func(h *hub) { edit(h, typo); h.restart(); h.decide(t) }, six, true},
		"the edit is undone": {func(h *hub) {
			edit(h, typo)
			edit(h, func(p *clusterv1beta1.Placement) { p.Spec.Predicates = nil })
		}, six, false},
		"another edit leaves a cluster": {func(h *hub) {
			edit(h, typo)
			edit(h, func(p *clusterv1beta1.Placement) { p.Spec.Predicates, p.Spec.NumberOfClusters = nil, new(int32(1)) })
		}, []string{"c1"}, false},
		"a cluster matches later, and none would stay": {func(h *hub) {
			edit(h, typo)
			h.put(enginetest.Cluster("c7").In("sea").Label("env", "lvie").Obj())
		}, six, true},
		"one selected cluster matches later": {func(h *hub) {
			edit(h, typo)
			h.put(enginetest.Cluster("c1").In("sea").Label("env", "lvie").Claim("platform", "cloud").Obj())
			h.passGrace(t)
		}, six, true},
		"all selected clusters match later": {func(h *hub) {
			edit(h, typo)
			for i, name := range six {
				h.put(enginetest.Cluster(name).In([]string{"sea", "sky"}[i%2]).Label("env", "lvie").Claim("platform", "cloud").Obj())
			}
			h.passGrace(t)
		}, six, false},
		"the generation is confirmed": {func(h *hub) {
			edit(h, typo)
			annotate(h, clusterv1beta1.ConfirmedGenerationAnnotation, fmt.Sprint(h.state.Placements[all].Generation))
		}, nil, false},
		"an earlier generation is confirmed": {func(h *hub) {
			edit(h, typo)
			annotate(h, clusterv1beta1.ConfirmedGenerationAnnotation, fmt.Sprint(h.state.Placements[all].Generation-1))
		}, six, true},
		"the generation of this placement is confirmed": {func(h *hub) {
			edit(h, typo)
			annotate(h, clusterv1beta1.ConfirmedGenerationAnnotation, clusterv1beta1.Confirmation(h.state.Placements[all]))
		}, nil, false},
		"the generation of a former placement is confirmed": {func(h *hub) {
			edit(h, typo)
			former := h.state.Placements[all].DeepCopy()
			former.UID = "former"
			annotate(h, clusterv1beta1.ConfirmedGenerationAnnotation, clusterv1beta1.Confirmation(former))
		}, six, true},
		"it is confirmed in the same write": {func(h *hub) {
			edit(h, func(p *clusterv1beta1.Placement) {
				typo(p)
				p.Annotations = map[string]string{clusterv1beta1.ConfirmEmptyAnnotation: "true"}
			})
		}, nil, false},
		"numberOfClusters is 0": {func(h *hub) {
			edit(h, func(p *clusterv1beta1.Placement) { p.Spec.NumberOfClusters = new(int32(0)) })
		}, nil, false},
		"no newcomer within the hold": {func(h *hub) {
			edit(h, typo)
			h.put(enginetest.Cluster("c7").In("sea").Obj())
		}, six, true},
		"a tainted and a deleted cluster leave": {func(h *hub) {
			edit(h, typo)
			h.put(enginetest.Cluster("c1").In("sea").Taint("k", "NoSelect", enginetest.Epoch).Obj())
			delete(h.state.Clusters, "c2")
			h.DeleteCluster(enginetest.Cluster("c2").Obj())
		}, six[2:], true},
		"a cluster that moves to another set leaves": {func(h *hub) {
			edit(h, typo)
			h.put(enginetest.Cluster("c1").In("other").Label("env", "live").Claim("platform", "cloud").Obj())
			h.passGrace(t)
		}, six[1:], true},
		"a withdrawn set leaves": {func(h *hub) {
			edit(h, typo)
			h.deleteSet("sea")
			h.clock.Step(testGrace)
			h.endGraces()
		}, []string{"c2", "c4", "c6"}, true},
		"a fact that empties it is no edit": {func(h *hub) {
			for _, name := range six {
				h.put(enginetest.Cluster(name).In("sea").Taint("k", "NoSelect", enginetest.Epoch).Obj())
			}
		}, nil, false},
		"a hub without the rule": {func(h *hub) {
			h.SetRules(fleet.Rules{})
			edit(h, typo)
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			test.do(h)
			h.decide(t)
			if diff := cmp.Diff(test.want, h.decisions()["all"]); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
			held := meta.IsStatusConditionTrue(h.state.Placements[all].Status.Conditions, clusterv1beta1.PlacementConditionEditHeld)
			if held != test.held {
				t.Errorf("EditHeld is %v, want %v", held, test.held)
			}
		})
	}
}

// TestWhatPlacementsLose: the numbers that webhooks warn with are those of the decisions that follow.
func TestWhatPlacementsLose(t *testing.T) {
	edited := func(h *hub, env string) *clusterv1beta2.ManagedClusterSet {
		out := h.state.Sets["sea"].DeepCopy()
		out.Spec = enginetest.Set("sea").Exclusive("env", env).Obj().Spec
		return out
	}
	edit := func(h *hub, env string) {
		before, after := h.state.Sets["sea"], edited(h, env)
		h.state.Add(after)
		h.SetSet(before, after)
	}
	for name, test := range map[string]struct {
		loss func(h *hub) Loss
		do   func(h *hub)
	}{
		"a set is deleted": {
			func(h *hub) Loss { return h.LossBySet("sea", nil) },
			func(h *hub) { h.deleteSet("sea") },
		},
		"a binding is deleted": {
			func(h *hub) Loss { return h.LossByBinding("ns", "sky") },
			func(h *hub) { h.unbind("sky") },
		},
		"a set that no namespace binds": {
			func(h *hub) Loss { h.addSet("lake"); return h.LossBySet("lake", nil) },
			func(h *hub) { h.deleteSet("lake") },
		},
		"a set selects other clusters": {
			func(h *hub) Loss { return h.LossBySet("sea", edited(h, "test")) },
			func(h *hub) { edit(h, "test") },
		},
		"a set selects more": {
			func(h *hub) Loss { return h.LossBySet("sea", edited(h, "live")) },
			func(h *hub) { edit(h, "live") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			before := h.decisions()
			warned := test.loss(h)
			test.do(h)
			h.passGrace(t)
			h.decide(t)
			var want Loss
			for placement, clusters := range before {
				lost := 0
				for _, cluster := range clusters {
					if !slices.Contains(h.decisions()[placement], cluster) {
						lost++
					}
				}
				if lost > 0 {
					want.Placements, want.Namespaces, want.Clusters = want.Placements+1, 1, want.Clusters+lost
				}
			}
			if warned != want {
				t.Errorf("warned of %+v, and lost are %+v", warned, want)
			}
		})
	}
}

// TestGoing reads for each placement which clusters it has by a right that is being withdrawn. Those of sea are c1, c3 and c5.
func TestGoing(t *testing.T) {
	sky := enginetest.Placement("ns", "sky").Sets("sky").Obj()
	each := func(right string, clusters ...string) map[string]string {
		out := map[string]string{}
		for _, name := range clusters {
			out[name] = right
		}
		return out
	}
	change := func(h *hub, edit func(c *clusterv1.ManagedCluster)) {
		c := h.state.Clusters["c1"].DeepCopy()
		edit(c)
		h.put(c)
	}
	const goneSea = "the ManagedClusterSet sea or its binding is gone"
	bySky := each("the ManagedClusterSet sky or its binding is gone", "c2", "c4", "c6")
	for name, test := range map[string]struct {
		do       func(h *hub)
		all, sky map[string]string
	}{
		"nothing":            {func(*hub) {}, nil, nil},
		"a set":              {func(h *hub) { h.deleteSet("sea") }, each(goneSea, "c1", "c3", "c5"), nil},
		"a binding":          {func(h *hub) { h.unbind("sky") }, bySky, bySky},
		"a set that is back": {func(h *hub) { h.deleteSet("sea"); h.addSet("sea") }, nil, nil},
		"a cluster leaves its set": {func(h *hub) {
			change(h, func(c *clusterv1.ManagedCluster) { delete(c.Labels, clusterv1beta2.ClusterSetLabel) })
		}, each("they have left the ManagedClusterSet sea", "c1"), nil},
		"a cluster moves to another set of the namespace": {func(h *hub) {
			change(h, func(c *clusterv1.ManagedCluster) { c.Labels[clusterv1beta2.ClusterSetLabel] = "sky" })
		}, nil, nil},
		"a label": {func(h *hub) {
			change(h, func(c *clusterv1.ManagedCluster) { delete(c.Labels, "env") })
		}, nil, nil},
		"it was lost before the start": {func(h *hub) {
			delete(h.state.Sets, "sea")
			h.restart()
			h.decide(t)
		}, each("they no longer qualified when the manager started", "c1", "c3", "c5"), nil},
		"the grace is over": {func(h *hub) {
			h.deleteSet("sea")
			h.clock.Step(testGrace)
			h.endGraces()
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.place(sky.DeepCopy())
			h.decide(t)
			test.do(h)
			h.decide(t)
			for placement, want := range map[string]map[string]string{"all": test.all, "sky": test.sky, "unknown": nil} {
				got := h.Going(fleet.Key{Namespace: "ns", Name: placement}, h.clock.Now())
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", placement, diff)
				}
			}
		})
	}
}

// TestAHeldEditOutlastsARestartWithoutItsSet holds edits, and starts the manager while their set is away: it comes back within the grace.
func TestAHeldEditOutlastsARestartWithoutItsSet(t *testing.T) {
	for _, mistake := range []*clusterv1beta1.Placement{
		enginetest.Placement("ns", "edited").Labels("regoin", "live").Obj(), enginetest.Placement("ns", "edited").Labels("env", "lief").Obj(),
	} {
		h := newHub(t)
		for _, cluster := range h.state.Clusters {
			labelled := cluster.DeepCopy()
			metav1.SetMetaDataLabel(&labelled.ObjectMeta, "env", "live")
			h.put(labelled)
		}
		h.place(enginetest.Placement("ns", "edited").Obj())
		h.decide(t)
		before := h.decisions()["edited"]
		p := h.state.Placements[fleet.Key{Namespace: "ns", Name: "edited"}].DeepCopy()
		p.Spec.Predicates = mistake.Spec.Predicates
		h.place(p)
		h.decide(t)
		held := func(when string) {
			t.Helper()
			edit := h.condition("edited", clusterv1beta1.PlacementConditionEditHeld)
			reference := h.condition("edited", clusterv1beta1.PlacementConditionMisconfigured)
			is := edit != nil && edit.Status == metav1.ConditionTrue || reference.Reason == clusterv1beta1.ReasonReferenceHeld
			if got := h.decisions()["edited"]; !slices.Equal(got, before) || len(got) == 0 || !is {
				t.Errorf("%s the decision is %v, want %v; %v, %v", when, got, before, edit, reference)
			}
		}
		held("after the edit")
		sets := slices.Collect(maps.Keys(h.state.Sets))
		for _, set := range sets {
			h.deleteSet(set)
		}
		h.restart()
		h.decide(t)
		held("after the restart")
		for _, set := range sets {
			h.addSet(set)
		}
		h.decide(t)
		held("with the sets")
		h.clock.Step(time.Minute)
		h.endGraces()
		h.decide(t)
		held("after the grace")
	}
}
