package set

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
)

// bruteForce is the content that the index should have, computed from all objects.
type bruteForce struct {
	clusters map[string]*clusterv1.ManagedCluster
	sets     map[string]*clusterv1beta2.ManagedClusterSet
}

// members returns the members of every set, by name.
func (b bruteForce) members() map[string][]string {
	out := map[string][]string{}
	for name, set := range b.sets {
		out[name] = []string{}
		for _, cluster := range b.clusters {
			if fleet.NewSet(set).Has(fleet.NewCluster(cluster)) {
				out[name] = append(out[name], cluster.Name)
			}
		}
		slices.Sort(out[name])
	}
	return out
}

// conflicting returns the other sets that claim the label of a set.
func (b bruteForce) conflicting(set *clusterv1beta2.ManagedClusterSet) []string {
	var out []string
	claimed, exclusive := fleet.NewSet(set).ExclusiveLabel()
	for name, other := range b.sets {
		if label, ok := fleet.NewSet(other).ExclusiveLabel(); exclusive && ok && label == claimed && name != set.Name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// generator draws labels, selectors and events.
type generator struct{ *rand.Rand }

func pick[T any](d generator, from ...T) T { return from[d.IntN(len(from))] }

func (g generator) labels() map[string]string {
	out := map[string]string{}
	for _, key := range []string{clusterv1beta2.ClusterSetLabel, floor, "colour"} {
		if value := pick(g, "", "a", "b", "c"); value != "" {
			out[key] = value
		}
	}
	return out
}

func (g generator) selector() clusterv1beta2.ManagedClusterSelector {
	key, value := pick(g, clusterv1beta2.ClusterSetLabel, floor, "colour", "no key"), pick(g, "a", "b")
	expression := metav1.LabelSelectorRequirement{
		Key: key, Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn),
		Values: []string{value},
	}
	if g.IntN(2) == 0 {
		expression = metav1.LabelSelectorRequirement{Key: key, Operator: pick(g, metav1.LabelSelectorOpExists,
			metav1.LabelSelectorOpDoesNotExist)}
	}
	return pick(g,
		clusterv1beta2.ManagedClusterSelector{},
		clusterv1beta2.ManagedClusterSelector{SelectorType: "Surprise"},
		clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector},
		clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}},
		clusterv1beta2.ManagedClusterSelector{
			SelectorType:  clusterv1beta2.LabelSelector,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		},
		clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{expression},
		}},
		clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.ExclusiveLabel},
		clusterv1beta2.ManagedClusterSelector{
			SelectorType:   clusterv1beta2.ExclusiveLabel,
			ExclusiveLabel: &clusterv1beta2.ExclusiveLabelSelector{Key: key, Value: value},
		},
	)
}

// event applies a random event to the objects and the index. It returns the sets that the index enqueues, and the expected sets.
func (g generator) event(w bruteForce, x *index) (enqueued, want []string) {
	name, before := pick(g, "a", "b", "c", "d"), w.members()
	switch what := g.IntN(4); what {
	case 0:
		w.clusters[name] = member(name, g.labels())
		return x.setCluster(w.clusters[name]), changedSets(before, w.members())
	case 1:
		delete(w.clusters, name)
		return x.deleteCluster(name), changedSets(before, w.members())
	default:
		if old := w.sets[name]; old != nil {
			want = w.conflicting(old)
		}
		if what == 2 {
			delete(w.sets, name)
			return x.deleteSet(name), want
		}
		w.sets[name] = set(name, g.selector())
		want = append(want, w.conflicting(w.sets[name])...)
		slices.Sort(want)
		return x.setSet(w.sets[name]), slices.Compact(want)
	}
}

// changedSets returns the sets whose members have changed.
func changedSets(before, after map[string][]string) []string {
	var out []string
	for name := range after {
		if !slices.Equal(before[name], after[name]) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// TestNoSetIsEnqueuedBeforeSync: members are counted before the sync too.
func TestNoSetIsEnqueuedBeforeSync(t *testing.T) {
	x, set := newIndex(), exclusive("dev")
	x.setSet(set)
	if enqueued := x.setCluster(inSet("a", "dev")); len(enqueued) > 0 {
		t.Errorf("enqueued %v before the sync", enqueued)
	}
	x.markSynced()
	if enqueued := x.setCluster(inSet("b", "dev")); !slices.Equal(enqueued, []string{"dev"}) {
		t.Errorf("enqueued %v, want dev", enqueued)
	}
	if got := x.members(fleet.NewSet(set)); got != 2 {
		t.Errorf("%d members, want 2", got)
	}
}

// TestIndexMatchesBruteForce: after random events, the index has the same counts, conflicts and enqueued sets as a computation
// from all objects.
func TestIndexMatchesBruteForce(t *testing.T) {
	for seed := range uint64(300) {
		d, x := generator{rand.New(rand.NewPCG(seed, 0))}, newIndex()
		x.markSynced()
		w := bruteForce{map[string]*clusterv1.ManagedCluster{}, map[string]*clusterv1beta2.ManagedClusterSet{}}
		for event := range 40 {
			if enqueued, want := d.event(w, x); !slices.Equal(enqueued, want) {
				t.Fatalf("seed %d, event %d: enqueued %v, want %v", seed, event, enqueued, want)
			}
			for name, members := range w.members() {
				if got := x.members(fleet.NewSet(w.sets[name])); got != len(members) {
					t.Fatalf("seed %d, event %d: set %s has %d members, want %v", seed, event, name, got, members)
				}
				if got, want := x.conflicting(w.sets[name]), w.conflicting(w.sets[name]); !slices.Equal(got, want) {
					t.Fatalf("seed %d, event %d: set %s conflicts with %v, want %v", seed, event, name, got, want)
				}
			}
		}
		for name := range w.sets {
			x.deleteSet(name)
		}
		if len(x.sets)+len(x.byTerm)+len(x.byLabel) > 0 {
			t.Fatalf("seed %d: the index keeps entries without a set", seed)
		}
	}
}

// BenchmarkStart adds a fleet and counts the members of all its sets, as a starting manager does. It compares the index with a
// check of every cluster for every set.
func BenchmarkStart(b *testing.B) {
	for _, size := range []int{10, 1_000, 10_000} {
		var clusters []*clusterv1.ManagedCluster
		var sets []*clusterv1beta2.ManagedClusterSet
		for i := range size / 5 {
			sets = append(sets, exclusive(fmt.Sprintf("set-%d", i)))
		}
		for i := range size {
			labels := map[string]string{clusterv1beta2.ClusterSetLabel: sets[i%len(sets)].Name}
			for key := range 10 {
				labels[fmt.Sprintf("key-%d", key)] = fmt.Sprintf("value-%d", i%(key+2))
			}
			clusters = append(clusters, member(fmt.Sprintf("cluster-%d", i), labels))
		}
		b.Run(fmt.Sprintf("index/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := newIndex()
				x.markSynced()
				enqueued := 0
				for _, set := range sets {
					x.setSet(set)
				}
				for _, cluster := range clusters {
					enqueued += len(x.setCluster(cluster))
				}
				for _, set := range sets {
					if got := x.members(fleet.NewSet(set)); got != 5 || len(x.conflicting(set)) > 0 {
						b.Fatalf("%d members, want 5", got)
					}
				}
				if enqueued != size {
					b.Fatalf("enqueued %d times, want once for each cluster", enqueued)
				}
			}
		})
		b.Run(fmt.Sprintf("naive/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read := make([]*fleet.Cluster, 0, len(clusters))
				for _, cluster := range clusters {
					read = append(read, fleet.NewCluster(cluster))
				}
				for _, set := range sets {
					compiled, got := fleet.NewSet(set), 0
					for _, cluster := range read {
						if compiled.Has(cluster) {
							got++
						}
					}
					if got != 5 {
						b.Fatalf("%d members, want 5", got)
					}
				}
			}
		})
	}
}
