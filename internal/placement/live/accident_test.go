package live

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

const (
	// accidentRounds are the rounds of one history. A round is several accidents and what undoes them: some eight changes, each decided.
	// With the 100 histories of a test run these are 10,000 changes.
	accidentRounds = 12
	// accidentTime is the longest time of a round before a restart, and after it: less than the grace of a label.
	accidentTime = 4 * time.Second

	deletedPlacements, editedPlacements = "placements are deleted", "placements are edited by mistake"
)

// accidents is a hub to which accidents happen. What they take away comes back within the grace.
type accidents struct {
	*hub
	r *rapid.T
	// before are the objects when no accident is under way, selected the clusters of each placement, and want the slices.
	before   *enginetest.State
	selected map[string][]string
	want     map[string]string
	// gone are the placements that are deleted now. left is the time of the round that is left.
	gone  map[fleet.Key]*clusterv1beta1.Placement
	left  time.Duration
	story []string
	// undefined is set while a definition is gone, or objects that went with it: nothing is decided then.
	undefined bool
}

// TestAccidentsMoveNothing follows random histories: verbs that delete and create again, controllers and agents that take labels, claims
// and scores away, cordons, and managers that are killed in the middle. Several happen at once, and end in any order within the grace.
// Definitions go with all of their objects, for any time. No decision differs at any time, but for a deleted placement, which has its
// former slices once it is made anew.
func TestAccidentsMoveNothing(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		a := newAccidents(t, r, env)
		for range accidentRounds {
			if rapid.IntRange(0, 5).Draw(r, "definitions") == 0 {
				a.definitionsGo(t)
			} else {
				a.round(t)
			}
		}
	})
}

// newAccidents returns a hub of random clusters in four sets, decided.
func newAccidents(t *testing.T, r *rapid.T, env *celenv.Env) *accidents {
	t.Helper()
	h := &hub{state: enginetest.NewState(), clock: clocktesting.NewFakeClock(enginetest.Epoch), env: env}
	h.restart()
	sets := []string{"lake", "sea", "sky", "wood"}
	for _, set := range sets {
		h.addSet(set)
		h.bind(set)
	}
	for i := range rapid.IntRange(8, 20).Draw(r, "clusters") {
		name := fmt.Sprintf("c%02d", i)
		of := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(r, name+" "+what) }
		h.put(enginetest.Cluster(name).In(of("set", sets...)).Label("env", of("env", "live", "live", "test")).
			Label("region", of("region", "r1", "r2", "r3")).Label("zone", of("zone", "z1", "z2", "z3", "z4")).Label("name", name).
			Claim("platform", of("platform", "cloud", "cloud", "metal")).CPU(of("cpu", "1", "2", "3", "4")).Obj())
		h.scoreOf(name, rapid.Int32Range(0, 4).Draw(r, name+" score")*20)
	}
	for _, p := range accidentPlacements() {
		h.place(p)
	}
	h.decide(t)
	h.clock.Step(time.Minute) // the grace after the start
	h.endGraces()
	h.decide(t)
	for _, name := range slices.Sorted(maps.Keys(h.state.Clusters)) { // from now on a decision from nothing differs
		if c := h.state.Clusters[name].DeepCopy(); rapid.IntRange(0, 3).Draw(r, name+" is cordoned") == 0 {
			c.Spec.Taints = []clusterv1.Taint{{
				Key: "repair", Effect: clusterv1.TaintEffectNoSelectIfNew, TimeAdded: metav1.Time{Time: h.clock.Now()},
			}}
			h.put(c)
		}
	}
	h.decide(t)
	a := &accidents{hub: h, r: r, gone: map[fleet.Key]*clusterv1beta1.Placement{}}
	a.before, a.selected, a.want = h.state.Copy(), h.decisions(), a.slices()
	a.watchDefinitions()
	return a
}

func (h *hub) scoreOf(cluster string, value int32) {
	score := enginetest.Score(cluster, "load").Value("free", value).Obj()
	h.state.Add(score)
	h.SetScore(score)
}

// accidentPlacements returns placements of many kinds.
func accidentPlacements() []*clusterv1beta1.Placement {
	exact := clusterv1beta1.PrioritizerPolicyModeExact
	of := func(name string) *enginetest.PlacementBuilder { return enginetest.Placement("ns", name) }
	label := clusterv1beta1.TopologyKeyTypeLabel
	return []*clusterv1beta1.Placement{
		of("all").Obj(),
		of("two").Number(2).Obj(),
		of("label").Labels("env", "live").Obj(),
		of("claim").Claims(enginetest.Wants("platform", metav1.LabelSelectorOpIn, "cloud")).Obj(),
		of("cel-claim").CEL(`managedCluster.status.clusterClaims.exists(c, c.name == "platform" && c.value == "cloud")`).Obj(),
		of("cel-label").CEL(`managedCluster.metadata.labels["env"] == "live"`).Number(4).Obj(),
		of("cel-score").CEL(`managedCluster.scores("load").exists(s, s.name == "free" && s.value >= 20)`).Obj(),
		of("ranked").Mode(exact).AddOn("load", "free", 1).Number(5).Obj(),
		of("ranked-steady").AddOn("load", "free", 1).Number(5).Obj(),
		of("largest").Mode(exact).BuiltIn("ResourceAllocatableCPU", 1).Number(4).Obj(),
		of("spread").Even(label, "region", 1, true).Number(6).Obj(),
		of("spread-softly").Even(label, "region", 1, false).Mode(exact).AddOn("load", "free", 1).Number(6).Obj(),
		of("apart").Apart(label, "zone").Obj(),
		of("tiers").Tier("live", clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("env", "live")}).TierOf("rest").Number(5).Obj(),
		of("groups").GroupByLabel("canary", "region", "r1").PerGroup("3").Obj(),
		of("budget").Labels("env", "live").Budget("1", time.Hour).Obj(),
	}
}

// slices returns the content of every slice of the placements that exist.
func (a *accidents) slices() map[string]string {
	out := map[string]string{}
	for _, key := range a.state.Keys() {
		for _, s := range a.state.SlicesOf(key) {
			out[s.Name] = s.Labels[clusterv1beta1.DecisionGroupNameLabel] + ": " + strings.Join(slices.Sorted(slices.Values(plan.Clusters(s))), " ")
		}
	}
	return out
}

// round lets accidents happen, and undoes them.
func (a *accidents) round(t *testing.T) {
	t.Helper()
	a.story, a.left = nil, accidentTime
	kinds := a.kinds()
	var undo []func()
	for range rapid.IntRange(1, 3).Draw(a.r, "accidents") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(a.r, "accident")
		a.story = append(a.story, name)
		undo = append(undo, kinds[name]()...)
		delete(kinds, name) // each at most once, since its undoing would undo the other
		if name == deletedPlacements || name == editedPlacements {
			maps.DeleteFunc(kinds, func(other string, _ func() []func()) bool {
				return other == deletedPlacements || other == editedPlacements
			})
		}
		a.pass()
	}
	// What was deleted is known to the process alone. The grace after a start is for placements that were not edited since their decision.
	mayKill := len(a.gone) == 0 && !slices.Contains(a.story, editedPlacements)
	if mayKill && rapid.IntRange(0, 3).Draw(a.r, "kill") == 0 {
		a.story, a.left = append(a.story, "the manager is killed"), accidentTime
		a.restart()
		a.watchDefinitions()
		a.pass()
	}
	a.story = append(a.story, "it is undone")
	for _, again := range rapid.Permutation(undo).Draw(a.r, "order") {
		again()
		a.pass()
	}
	a.decide(t)
	a.check()
	a.clock.Step(time.Minute)
	a.endGraces()
	a.decide(t)
	a.check()
}

// watchDefinitions shows the manager that a definition is gone.
func (a *accidents) watchDefinitions() { a.KeepWhile(func() bool { return a.undefined }) }

// definitionsGo deletes some definitions with all of their objects, and creates them again after any time.
func (a *accidents) definitionsGo(t *testing.T) {
	t.Helper()
	kinds := a.definitions()
	names := rapid.Permutation(slices.Sorted(maps.Keys(kinds))).Draw(a.r, "kinds")
	names = names[:rapid.IntRange(1, len(names)).Draw(a.r, "how many kinds")]
	a.story, a.undefined = append([]string{"definitions go"}, names...), true
	var undo []func()
	for _, name := range names {
		undo = append(undo, kinds[name]()...)
		a.wait()
	}
	for _, again := range rapid.Permutation(undo).Draw(a.r, "order") {
		again()
	}
	a.wait()
	a.undefined = false
	a.decide(t)
	a.check()
	a.wait()
	a.decide(t)
	a.check()
}

// wait lets a time pass that may be longer than every grace.
func (a *accidents) wait() {
	a.clock.Step(rapid.SampledFrom([]time.Duration{0, time.Second, testGrace, 5 * time.Minute}).Draw(a.r, "wait"))
	a.Audit()
	a.endGraces()
}

// definitions returns what goes with each definition, with what creates each object again.
func (a *accidents) definitions() map[string]func() []func() {
	return map[string]func() []func(){
		"managedclusters": all(maps.Keys(a.state.Clusters), func(name string) func() {
			cluster := a.state.Clusters[name]
			delete(a.state.Clusters, name)
			a.DeleteCluster(cluster)
			return func() { a.put(cluster.DeepCopy()) }
		}),
		"managedclustersets": all(maps.Keys(a.state.Sets), func(set string) func() {
			a.deleteSet(set)
			return func() { a.addSet(set) }
		}),
		"managedclustersetbindings": all(maps.Keys(a.state.Bindings["ns"]), func(set string) func() {
			a.unbind(set)
			return func() { a.bind(set) }
		}),
		"addonplacementscores": all(maps.Keys(a.state.Scores), func(key enginetest.ScoreKey) func() {
			score := a.state.Scores[key]
			delete(a.state.Scores, key)
			a.DeleteScore(score)
			return func() {
				a.state.Add(score)
				a.SetScore(score)
			}
		}),
		"placements": all(slices.Values(a.state.Keys()), func(key fleet.Key) func() {
			p := a.unplace(key).DeepCopy()
			p.UID, p.Generation, p.Status = "", 0, clusterv1beta1.PlacementStatus{}
			return func() { a.place(p) }
		}),
		"placementdecisions": all(maps.Keys(a.state.Slices), func(key fleet.Key) func() {
			s := a.state.Slices[key]
			delete(a.state.Slices, key)
			a.DeleteSlice(s)
			return func() {}
		}),
	}
}

// all returns an accident that happens to all objects.
func all[K any](keys iter.Seq[K], do func(K) (undo func())) func() []func() {
	return func() []func() {
		var undo []func()
		for _, key := range slices.Collect(keys) {
			undo = append(undo, do(key))
		}
		return undo
	}
}

// pass decides some of the placements that were enqueued, or none, and lets time pass.
func (a *accidents) pass() {
	for _, key := range a.state.Keys() {
		if a.queued[key] && rapid.IntRange(0, 3).Draw(a.r, "decide "+key.Name) > 0 {
			delete(a.queued, key)
			a.decideOne(key)
		}
	}
	a.check()
	by := min(a.left, time.Duration(rapid.IntRange(0, 1000).Draw(a.r, "ms"))*time.Millisecond)
	a.left -= by
	a.clock.Step(by)
	a.endGraces()
}

// check compares the slices with those of before.
func (a *accidents) check() {
	want, got := maps.Clone(a.want), a.slices()
	maps.DeleteFunc(want, func(name, _ string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(a.gone)), func(key fleet.Key) bool { return a.isOf(name, key) })
	})
	if diff := cmp.Diff(want, got); diff != "" {
		a.r.Fatalf("%s: slices (-before +after):\n%s", strings.Join(a.story, ", "), diff)
	}
}

// isOf reports whether a slice is one of a placement.
func (a *accidents) isOf(name string, key fleet.Key) bool {
	owner, known := a.before.OwnerOf(a.before.Slices[fleet.Key{Namespace: key.Namespace, Name: name}])
	return known && owner == key
}

// kinds returns the accidents, each with what undoes it, in parts that may come in any order.
func (a *accidents) kinds() map[string]func() []func() {
	clusters := func(change, back func(c, before *clusterv1.ManagedCluster)) func() []func() {
		return a.each(slices.Sorted(maps.Keys(a.before.Clusters)), func(name string) func() {
			do := func(how func(c, before *clusterv1.ManagedCluster)) {
				c := a.state.Clusters[name].DeepCopy()
				how(c, a.before.Clusters[name])
				a.put(c)
			}
			do(change)
			return func() { do(back) }
		})
	}
	labels := func(keys ...string) func() []func() {
		return clusters(func(c, _ *clusterv1.ManagedCluster) {
			for _, key := range keys {
				delete(c.Labels, key)
			}
		}, func(c, before *clusterv1.ManagedCluster) {
			for _, key := range keys {
				c.Labels[key] = before.Labels[key]
			}
		})
	}
	scores := func(change func(score *clusterv1alpha1.AddOnPlacementScore)) func() []func() {
		return a.each(slices.Sorted(maps.Keys(a.before.Clusters)), func(name string) func() {
			key := enginetest.ScoreKey{Cluster: name, Resource: "load"}
			score := a.before.Scores[key].DeepCopy()
			if change(score); score.Status.Scores == nil {
				delete(a.state.Scores, key)
				a.DeleteScore(score)
			} else {
				a.state.Add(score)
				a.SetScore(score)
			}
			return func() {
				empty := enginetest.Score(name, "load").Obj() // an add-on creates the object before it writes its status
				a.state.Add(empty)
				a.SetScore(empty)
				a.state.Add(a.before.Scores[key])
				a.SetScore(a.before.Scores[key])
			}
		})
	}
	return map[string]func() []func(){
		"sets are deleted": a.each([]string{"lake", "sea", "sky", "wood"}, func(set string) func() {
			a.deleteSet(set)
			return func() { a.addSet(set) }
		}),
		"bindings are deleted": a.each([]string{"lake", "sea", "sky", "wood"}, func(set string) func() {
			a.unbind(set)
			return func() { a.bind(set) }
		}),
		"clusters are in no set":       labels(clusterv1beta2.ClusterSetLabel),
		"labels go":                    labels("env", "region", "zone"),
		"the label of the region goes": labels("region"),
		"labels have other values": clusters(
			func(c, _ *clusterv1.ManagedCluster) { c.Labels["env"] = "liev" },
			func(c, before *clusterv1.ManagedCluster) { c.Labels["env"] = before.Labels["env"] }),
		"agents report no claims": clusters(
			func(c, _ *clusterv1.ManagedCluster) { c.Status.ClusterClaims = nil },
			func(c, before *clusterv1.ManagedCluster) { c.Status.ClusterClaims = before.Status.ClusterClaims }),
		"clusters are cordoned": clusters(
			func(c, _ *clusterv1.ManagedCluster) {
				c.Spec.Taints = []clusterv1.Taint{{
					Key: "maintenance", Effect: clusterv1.TaintEffectNoSelectIfNew, TimeAdded: metav1.Time{Time: a.clock.Now()},
				}}
			},
			func(c, before *clusterv1.ManagedCluster) { c.Spec.Taints = before.Spec.Taints }),
		"scores are deleted": scores(func(score *clusterv1alpha1.AddOnPlacementScore) { score.Status.Scores = nil }),
		"scores expire": scores(func(score *clusterv1alpha1.AddOnPlacementScore) {
			score.Status.ValidUntil = &metav1.Time{Time: a.clock.Now().Add(-time.Second)}
		}),
		editedPlacements: a.each(keyNames(a.before.Keys()), func(name string) func() {
			key := fleet.Key{Namespace: "ns", Name: name}
			selected := append(slices.Clone(a.selected[name]), "none")
			mistake := rapid.SampledFrom(mistakes(selected[0])).Draw(a.r, "mistake")
			edit := func(predicates []clusterv1beta1.ClusterPredicate) {
				p := a.state.Placements[key].DeepCopy()
				p.Spec.Predicates = predicates
				a.place(p)
			}
			edit(mistake.Spec.Predicates)
			return func() { edit(a.before.Placements[key].Spec.Predicates) }
		}),
		deletedPlacements: func() []func() {
			keys := a.before.Keys()
			return a.each(keyNames(keys), func(name string) func() {
				key := keys[slices.IndexFunc(keys, func(key fleet.Key) bool { return key.Name == name })]
				a.gone[key] = a.unplace(key)
				return func() {
					p := a.gone[key].DeepCopy()
					p.UID, p.Generation, p.Status = "", 0, clusterv1beta1.PlacementStatus{}
					a.place(p)
					a.queued[key] = false
					a.decideOne(key)
					delete(a.gone, key)
				}
			})()
		},
	}
}

// mistakes returns placements with predicates that are mistakes: they leave none of what is selected, or only the given cluster.
func mistakes(left string) []*clusterv1beta1.Placement {
	of := func() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p") }
	return []*clusterv1beta1.Placement{
		of().Labels("regoin", "live").Labels("name", left).Obj(), // no cluster has the first key
		of().Labels("env", "lief").Obj(),                         // no cluster has the value: the edit leaves none
		of().Claims(enginetest.Wants("plaform", metav1.LabelSelectorOpExists)).Obj(),
		of().CEL(`managedCluster.metadata.labels["regoin"] == "live"`).Labels("name", left).Obj(), // it fails on every cluster
		of().CEL(`managedCluster.`).Obj(),
	}
}

func keyNames(keys []fleet.Key) []string {
	out := make([]string, 0, len(keys))
	for _, key := range keys {
		out = append(out, key.Name)
	}
	return out
}

// each returns an accident that happens to some objects of the given names, and a way back for each. In between others may be decided.
func (a *accidents) each(names []string, do func(name string) (undo func())) func() []func() {
	return func() []func() {
		var undo []func()
		some := rapid.SampledFrom([]int{1, 3, len(names)}).Draw(a.r, "how many")
		for _, name := range rapid.Permutation(names).Draw(a.r, "which")[:min(some, len(names))] {
			undo = append(undo, do(name))
		}
		return undo
	}
}
