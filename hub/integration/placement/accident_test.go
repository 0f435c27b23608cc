package placement

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/checkout"
)

const (
	// accidentClusters are in accidentSets sets, and each of accidentTeams teams uses two of the sets with teamPlacements placements.
	accidentClusters, accidentSets, accidentTeams, teamPlacements = 300, 5, 10, 5
	// accidentWriters is how many writes are made at once.
	accidentWriters = 8
	// accidentSteps are the steps of a history that every change must pass.
	accidentSteps = 20
	// accidentGrace is far longer than a step takes.
	accidentGrace = 2 * time.Minute
	// killed is the accident of the manager.
	killed = "the manager is killed"
)

// accidents is a hub of several teams to which accidents happen. What they take away comes back within the grace.
type accidents struct {
	*kit.Client
	t       *testing.T
	random  *rand.Rand
	watcher *kit.SliceWatcher
	manager *hubtest.Manager
	// base is the namespace of the marker, and the prefix of the names of clusters and sets.
	base string
	// clusters are as they are when no accident is under way. specs are the placements.
	clusters []*clusterv1.ManagedCluster
	specs    map[types.NamespacedName]*clusterv1beta1.Placement
	// anew are the placements that are made anew in this step.
	anew map[types.NamespacedName]bool
	// markers counts the changes of the marker.
	markers int
}

// TestAccidentsMoveNothing follows a random history of accidents: verbs that replace, controllers and agents that take labels, claims and
// scores away, and managers that are killed in the middle. Each is undone within the grace. No decision changes at any time, but for a
// placement that is made anew, which has the same clusters afterwards.
func TestAccidentsMoveNothing(t *testing.T) { accidentsMoveNothing(t, accidentSteps) }

func accidentsMoveNothing(t *testing.T, steps int) {
	t.Helper()
	steady.Stop(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	a := newAccidents(t, seed)
	for n := range steps {
		a.anew = map[types.NamespacedName]bool{}
		// A slice of a deleted placement loses its label, so that no reader counts it.
		a.watcher.Begin(func(of types.NamespacedName) bool { return a.anew[of] || of.Name == "" })
		before := a.decisions()
		story := a.step()
		a.awaitDecided()
		a.awaitMadeAnew(before)
		for _, moved := range a.watcher.End() {
			t.Errorf("step %d, %s: %s", n, strings.Join(story, ", "), moved)
		}
		if t.Failed() {
			t.Fatalf("failed at step %d: %s", n, strings.Join(story, ", "))
		}
	}
}

// TestTheDocumentedAccidentsArePlayed compares the table of accidents that move nothing with those of the histories.
func TestTheDocumentedAccidentsArePlayed(t *testing.T) {
	page := kit.Must(os.ReadFile(checkout.Path(t, "docs/concepts/what-happens-when.md"))).In(t)
	_, after, found := strings.Cut(string(page), "| accident | what keeps the clusters |\n|---|---|\n")
	if !found {
		t.Fatal("the page has no table of accidents")
	}
	table, _, _ := strings.Cut(after, "\n\n")
	var documented []string
	for row := range strings.Lines(table) {
		documented = append(documented, strings.TrimSpace(strings.Split(row, "|")[1]))
	}
	played := append(slices.Collect(maps.Keys((&accidents{random: rand.New(rand.NewPCG(1, 1))}).kinds())), killed)
	slices.Sort(played)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, played); diff != "" {
		t.Errorf("accidents (-documented +played):\n%s", diff)
	}
}

// newAccidents starts a manager on a hub with the clusters, sets and placements.
func newAccidents(t *testing.T, seed uint64) *accidents {
	t.Helper()
	a := &accidents{
		Client: kit.New(t, shared), t: t, random: rand.New(rand.NewPCG(seed, 1)), specs: map[types.NamespacedName]*clusterv1beta1.Placement{},
	}
	a.base = shared.Namespace(t)
	for i := range accidentSets {
		a.MustCreateTemporary(kit.Set(a.set(i)))
	}
	a.join()
	for team := range accidentTeams {
		namespace := shared.Namespace(t)
		for _, set := range []int{team % accidentSets, (team + 1) % accidentSets} {
			a.MustCreate(kit.Binding(namespace, a.set(set)))
		}
		for i := range teamPlacements {
			p := kit.Placement(namespace, fmt.Sprintf("p%d", i))
			placementKinds()[(team+i)%len(placementKinds())](&p.Spec)
			a.specs[client.ObjectKeyFromObject(p)] = p.DeepCopy()
			a.MustCreateTemporary(p)
		}
	}
	a.MustCreateTemporary(kit.Set(a.base), kit.Binding(a.base, a.base), a.marker())
	a.watcher = kit.WatchSlices(t, shared)
	a.start()
	a.awaitDecided()
	a.Await("every placement is decided", func(ctx context.Context) error {
		for key, clusters := range a.decisions() {
			p := &clusterv1beta1.Placement{}
			if err := a.Get(ctx, key, p); err != nil {
				return err
			}
			got, counted := len(strings.Fields(clusters)), int(p.Status.NumberOfSelectedClusters)
			if got == 0 || got != counted || len(p.Status.Conditions) == 0 {
				return fmt.Errorf("%s has %d clusters, and counts %d", key, got, counted)
			}
		}
		return nil
	})
	return a
}

// marker is a placement that shows what the manager has read: it is changed last, and decided.
func (a *accidents) marker() *clusterv1beta1.Placement { return kit.Placement(a.base, "marker") }

func (a *accidents) set(number int) string { return fmt.Sprintf("%s-s%d", a.base, number) }

// join stores the clusters with labels, claims and a score each.
func (a *accidents) join() {
	a.t.Helper()
	for i := range accidentClusters {
		cluster := kit.AcceptedCluster(fmt.Sprintf("%s-c%03d", a.base, i), clusterv1beta2.ClusterSetLabel, a.set(i%accidentSets),
			"tier", []string{"gold", "silver"}[i%2], "region", fmt.Sprint("r", i%4))
		cluster.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{
			{Name: "version", Value: "1." + fmt.Sprint(30+i%3)}, {Name: "platform", Value: "metal"},
		}
		a.clusters = append(a.clusters, cluster)
		a.DeleteLater(cluster, a.score(cluster.Name, i))
	}
	a.each(a.clusters, func(ctx context.Context, c *clusterv1.ManagedCluster) error {
		if err := a.CreateWithStatus(ctx, c); err != nil {
			return err
		}
		if err := a.Create(ctx, kit.ClusterNamespace(c.Name)); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		return a.CreateWithStatus(ctx, a.score(c.Name, slices.Index(a.clusters, c)))
	})
}

// each writes something of each of some clusters, a few at a time.
func (a *accidents) each(of []*clusterv1.ManagedCluster, write func(context.Context, *clusterv1.ManagedCluster) error) {
	a.t.Helper()
	writes, ctx := errgroup.WithContext(a.t.Context())
	writes.SetLimit(accidentWriters)
	for _, c := range of {
		writes.Go(func() error { return write(ctx, c) })
	}
	if err := writes.Wait(); err != nil {
		a.t.Fatal(err)
	}
}

// score returns the score of a cluster.
func (a *accidents) score(cluster string, i int) *clusterv1alpha1.AddOnPlacementScore {
	out := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "load"}}
	out.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "free", Value: int32(i * 37 % 101)}}
	return out
}

// placementKinds are the specs of placements.
func placementKinds() []func(*clusterv1beta1.PlacementSpec) {
	claimed := expression(`managedCluster.status.clusterClaims.exists(c, c.name == "version" && c.value == "1.31")`)
	spread := func(spec *clusterv1beta1.PlacementSpec) {
		kit.Number(12)(spec)
		spec.SpreadPolicy.SpreadConstraints = []clusterv1beta1.SpreadConstraintsTerm{{
			TopologyKey: "region", TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel, MaxSkew: 1, WhenUnsatisfiable: clusterv1beta1.DoNotSchedule,
		}}
	}
	grouped := func(spec *clusterv1beta1.PlacementSpec) {
		spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(25)
	}
	scored := func(spec *clusterv1beta1.PlacementSpec) { kit.ByScore("load", "free")(spec); kit.Number(10)(spec) }
	platform := func(spec *clusterv1beta1.PlacementSpec) {
		spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"platform": "metal"}},
		}}}
	}
	return []func(*clusterv1beta1.PlacementSpec){
		func(*clusterv1beta1.PlacementSpec) {}, kit.Number(9), kit.Labelled("tier", "gold"), claimed, spread, grouped, scored, platform,
	}
}

// start starts a manager.
func (a *accidents) start() {
	a.t.Helper()
	a.manager = launch(a.t, options{Args: []string{
		"--withdrawal-grace=" + accidentGrace.String(), "--expression-hold=" + accidentGrace.String(),
	}}).Manager
}

// step lets some accidents happen, and undoes them. It returns what happened.
func (a *accidents) step() []string {
	a.t.Helper()
	kinds := a.kinds()
	var story []string
	var undo []func()
	for range 1 + a.random.IntN(3) {
		names := slices.Sorted(maps.Keys(kinds))
		name := names[a.random.IntN(len(names))]
		story, undo = append(story, name), append(undo, kinds[name]())
		delete(kinds, name) // each at most once, since its undoing would undo the other
	}
	a.pause()
	if len(a.anew) == 0 && a.random.IntN(4) == 0 { // what was deleted is known to the process alone
		story = append(story, killed)
		a.manager.Kill()
		a.start()
	}
	if a.random.IntN(2) == 0 {
		a.awaitDecided()
	}
	a.random.Shuffle(len(undo), func(i, j int) { undo[i], undo[j] = undo[j], undo[i] })
	for _, again := range undo {
		again()
		a.pause()
	}
	return story
}

func (a *accidents) pause() { time.Sleep(time.Duration(a.random.IntN(200)) * time.Millisecond) }

// kinds returns the accidents, each with what undoes it.
func (a *accidents) kinds() map[string]func() (undo func()) {
	set, some := a.set(a.random.IntN(accidentSets)), a.pickClusters(a.random.IntN(4) == 0)
	return map[string]func() func(){
		"a set is replaced": func() func() {
			a.MustDelete(kit.Set(set))
			return func() { a.MustCreate(kit.Set(set)) }
		},
		"the bindings of a namespace are replaced": func() func() {
			var list clusterv1beta2.ManagedClusterSetBindingList
			a.MustList(&list, client.InNamespace(a.pickPlacement().Namespace))
			for i := range list.Items {
				a.MustDelete(&list.Items[i])
			}
			return func() {
				for _, binding := range list.Items {
					a.MustCreate(kit.Binding(binding.Namespace, binding.Name))
				}
			}
		},
		"clusters lose the labels of their set, of predicates and of topologies": func() func() {
			return a.eachOf(some, `{"metadata":{"labels":{"cluster.open-cluster-management.io/clusterset":null,"tier":null,"region":null}}}`,
				func(c *clusterv1.ManagedCluster) string {
					return fmt.Sprintf(`{"metadata":{"labels":{%q:%q,"tier":%q,"region":%q}}}`,
						clusterv1beta2.ClusterSetLabel, c.Labels[clusterv1beta2.ClusterSetLabel], c.Labels["tier"], c.Labels["region"])
				})
		},
		"agents report no claims": func() func() {
			report := func(claims func(*clusterv1.ManagedCluster) []clusterv1.ManagedClusterClaim) {
				a.each(some, func(ctx context.Context, c *clusterv1.ManagedCluster) error {
					patch, err := json.Marshal(map[string]any{"status": map[string]any{"clusterClaims": claims(c)}})
					if err != nil {
						return err
					}
					return a.Status().Patch(ctx, kit.Cluster(c.Name), client.RawPatch(types.MergePatchType, patch))
				})
			}
			report(func(*clusterv1.ManagedCluster) []clusterv1.ManagedClusterClaim { return nil })
			return func() {
				report(func(c *clusterv1.ManagedCluster) []clusterv1.ManagedClusterClaim { return c.Status.ClusterClaims })
			}
		},
		"scores are deleted": func() func() {
			a.each(some, func(ctx context.Context, c *clusterv1.ManagedCluster) error { return a.Delete(ctx, a.score(c.Name, 0)) })
			return func() {
				a.each(some, func(ctx context.Context, c *clusterv1.ManagedCluster) error {
					return a.CreateWithStatus(ctx, a.score(c.Name, slices.Index(a.clusters, c)))
				})
			}
		},
		"a placement is replaced": func() func() {
			key := a.pickPlacement()
			a.anew[key] = true
			a.MustDelete(a.specs[key].DeepCopy())
			return func() { a.MustCreate(a.specs[key].DeepCopy()) }
		},
		"clusters are cordoned": func() func() {
			return a.eachOf(some, `{"spec":{"taints":[{"key":"maintenance","effect":"NoSelectIfNew"}]}}`,
				func(*clusterv1.ManagedCluster) string { return `{"spec":{"taints":null}}` })
		},
	}
}

// eachOf patches clusters, and returns what undoes it by a patch of each.
func (a *accidents) eachOf(clusters []*clusterv1.ManagedCluster, patch string, undo func(*clusterv1.ManagedCluster) string) func() {
	a.t.Helper()
	merge := func(patch func(*clusterv1.ManagedCluster) string) {
		a.each(clusters, func(ctx context.Context, c *clusterv1.ManagedCluster) error {
			return a.Patch(ctx, kit.Cluster(c.Name), client.RawPatch(types.MergePatchType, []byte(patch(c))))
		})
	}
	merge(func(*clusterv1.ManagedCluster) string { return patch })
	return func() { merge(undo) }
}

// pickClusters returns all clusters, or some of a set.
func (a *accidents) pickClusters(all bool) []*clusterv1.ManagedCluster {
	if all {
		return a.clusters
	}
	set := a.random.IntN(accidentSets)
	var out []*clusterv1.ManagedCluster
	for i, c := range a.clusters {
		if i%accidentSets == set && a.random.IntN(2) == 0 {
			out = append(out, c)
		}
	}
	return out
}

// pickPlacement returns a placement of a team.
func (a *accidents) pickPlacement() types.NamespacedName {
	keys := slices.SortedFunc(maps.Keys(a.specs), func(x, y types.NamespacedName) int { return strings.Compare(x.String(), y.String()) })
	return keys[a.random.IntN(len(keys))]
}

// decisions returns the clusters of every placement.
func (a *accidents) decisions() map[types.NamespacedName]string {
	out := map[types.NamespacedName]string{}
	for key := range a.specs {
		out[key] = a.watcher.Clusters(key.Namespace, key.Name)
	}
	return out
}

// awaitDecided waits until the manager has decided what it has read so far.
func (a *accidents) awaitDecided() {
	a.t.Helper()
	a.markers++
	a.MustMerge(a.marker(), fmt.Sprintf(`{"spec":{"tolerations":[{"key":"t%d","operator":"Exists"}]}}`, a.markers))
	a.AwaitObservedCondition(a.marker(), clusterv1beta1.PlacementConditionSatisfied, metav1.ConditionFalse,
		clusterv1beta1.ReasonAllManagedClusterSetsEmpty)
}

// awaitMadeAnew waits until the placements that were made anew have the clusters that they had.
func (a *accidents) awaitMadeAnew(before map[types.NamespacedName]string) {
	a.t.Helper()
	for key := range a.anew {
		a.Await("a placement that is made anew has its former clusters", func(context.Context) error {
			if got := a.watcher.Clusters(key.Namespace, key.Name); got != before[key] {
				return fmt.Errorf("%s has [%s], it had [%s]", key, got, before[key])
			}
			return nil
		})
	}
}
