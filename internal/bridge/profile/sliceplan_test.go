package profile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
)

func web() *clusterv1beta1.Placement {
	return &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-web"}}
}

// from returns a slice of a placement in decision group 0.
func from(number int, clusters ...string) *clusterv1beta1.PlacementDecision {
	out := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: fmt.Sprintf("web-decision-%d", number), Labels: map[string]string{clusterv1beta1.DecisionGroupIndexLabel: "0"},
	}}
	for _, name := range clusters {
		out.Status.Decisions = append(out.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
	}
	return out
}

func everyCluster(string) bool { return true }

// hub is the decisions of a hub, by name.
type hub map[string]*multiclusterv1alpha1.PlacementDecision

func (h hub) plan(slices ...slice) []sliceWrite {
	in := sliceInput{placement: web(), manager: "berth", targets: slices}
	for _, name := range sortedKeys(h) {
		in.stored = append(in.stored, h[name])
	}
	return planSlices(in)
}

func (h hub) apply(write sliceWrite) {
	if write.verb == verbDelete {
		delete(h, write.object.Name)
		return
	}
	h[write.object.Name] = write.object
}

// clusters returns the clusters of all slices.
func (h hub) clusters() map[string]bool {
	out := map[string]bool{}
	for _, s := range h {
		for _, entry := range s.Decisions {
			out[entry.ClusterProfileRef.Name] = true
		}
	}
	return out
}

// complete reports whether a reader finds no sign of a change: the indexes have no gap, and there is one revision.
func (h hub) complete() bool {
	revisions, indexes := map[string]bool{}, map[string]bool{}
	for _, s := range h {
		revisions[s.Annotations[multiclusterv1alpha1.DecisionRevisionAnnotation]] = true
		indexes[s.Labels[multiclusterv1alpha1.DecisionIndexLabel]] = true
	}
	for i := range len(h) {
		if !indexes[fmt.Sprint(i)] {
			return false
		}
	}
	return len(revisions) == 1
}

func sortedKeys[T any](in map[string]T) []string { return slices.Sorted(maps.Keys(in)) }

func TestTheSlicesOfADecision(t *testing.T) {
	scored := from(4, "c", "a")
	scored.Labels = map[string]string{clusterv1beta1.DecisionGroupIndexLabel: "1", clusterv1beta1.DecisionGroupNameLabel: "canary"}
	scored.Status.Decisions[0].Score, scored.Status.Decisions[0].Reason = 7, "primary"
	got, leftOut := targets("shop", []*clusterv1beta1.PlacementDecision{scored, from(10, "e"), from(2, "b", "d")},
		func(name string) bool { return name != "d" })
	var lines []string
	for _, s := range got {
		for _, entry := range s.entries {
			lines = append(lines, fmt.Sprintf("%d %s %s/%s: %s", s.index, s.name, entry.ClusterProfileRef.Namespace, entry.ClusterProfileRef.Name,
				entry.Reason))
		}
	}
	want := []string{
		"0 web-decision-2 shop/b: group 0",
		"1 web-decision-4 shop/c: group 1 (canary), tier primary, rank 1",
		"1 web-decision-4 shop/a: group 1 (canary), rank 2",
		"2 web-decision-10 shop/e: group 0",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the slices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"d"}, leftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

func TestTheOrderOfWrites(t *testing.T) {
	two := func(a, b []string) []slice {
		out, _ := targets("shop", []*clusterv1beta1.PlacementDecision{from(1, a...), from(2, b...)}, everyCluster)
		return out
	}
	one := func(a ...string) []slice {
		out, _ := targets("shop", []*clusterv1beta1.PlacementDecision{from(1, a...)}, everyCluster)
		return out
	}
	for name, test := range map[string]struct {
		before, after []slice
		want          string
	}{
		"a new decision, from its end":    {nil, two([]string{"a"}, []string{"b"}), "create 2, create 1"},
		"an empty decision has one slice": {nil, one(), "create 1"},
		"nothing changes":                 {one("a"), one("a"), ""},
		"a cluster joins":                 {one("a"), one("a", "b"), "update 1"},
		"every slice gets the revision":   {two([]string{"a"}, []string{"b"}), two([]string{"a"}, []string{"b", "c"}), "update 1, update 2"},
		"a slice is added":                {one("a"), two([]string{"a"}, []string{"b"}), "create 2, update 1"},
		"a cluster moves to a new slice":  {one("a", "b"), two([]string{"a"}, []string{"b"}), "create 2, update 1"},
		"a slice goes":                    {two([]string{"a"}, []string{"b"}), one("a", "b"), "update 1, delete 2"},
		"clusters change places": {
			two([]string{"a"}, []string{"b"}), two([]string{"b"}, []string{"a"}),
			"create 3, update 1, update 2, delete 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := hub{}
			for _, write := range h.plan(test.before...) {
				h.apply(write)
			}
			var got []string
			for _, write := range h.plan(test.after...) {
				got = append(got, string(write.verb)+" "+strings.TrimPrefix(write.object.Name, "web-decision-"))
			}
			if order := strings.Join(got, ", "); order != test.want {
				t.Errorf("the writes are %q, want %q", order, test.want)
			}
		})
	}
}

// randomSlices divides some clusters among some slices of at most 100.
func randomSlices(random *rand.Rand, clusters []string) []slice {
	numbers := random.Perm(6)[:1+random.IntN(4)]
	var from0 []*clusterv1beta1.PlacementDecision
	for _, number := range numbers {
		from0 = append(from0, from(number+1))
	}
	for _, name := range clusters {
		if to := from0[random.IntN(len(from0))]; random.IntN(4) > 0 && len(to.Status.Decisions) < multiclusterv1alpha1.MaxDecisions {
			to.Status.Decisions = append(to.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		}
	}
	out, _ := targets("shop", from0, everyCluster)
	return out
}

// TestAClusterThatStaysIsThereAtEveryInstant plays random changes of decisions, with managers that stop after any write. Slices are
// often full.
func TestAClusterThatStaysIsThereAtEveryInstant(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		var clusters []string
		for i := range []int{3, 20, 300}[seed%3] {
			clusters = append(clusters, fmt.Sprint("c", i))
		}
		h := hub{}
		for range 8 {
			wanted, target := randomSlices(random, clusters), map[string]bool{}
			for _, s := range wanted {
				for _, entry := range s.entries {
					target[entry.ClusterProfileRef.Name] = true
				}
			}
			stay := h.clusters()
			maps.DeleteFunc(stay, func(name string, _ bool) bool { return !target[name] })
			for {
				writes := h.plan(wanted...)
				stop := len(writes)
				if random.IntN(2) == 0 && stop > 0 {
					stop = random.IntN(stop)
				}
				for _, write := range writes[:stop] {
					h.apply(write)
					checkInstant(t, h, stay, target, seed)
				}
				if stop == len(writes) {
					break
				}
			}
			if rest := h.plan(wanted...); len(rest) > 0 || !h.complete() || !maps.Equal(h.clusters(), target) || len(h) != len(wanted) {
				t.Fatalf("seed %d: the end is not the target, and %d writes follow", seed, len(rest))
			}
		}
	}
}

func checkInstant(t *testing.T, h hub, stay, target map[string]bool, seed uint64) {
	t.Helper()
	have := h.clusters()
	for name := range stay {
		if !have[name] {
			t.Fatalf("seed %d: cluster %s is in no slice", seed, name)
		}
	}
	for _, s := range h {
		if len(s.Decisions) > multiclusterv1alpha1.MaxDecisions {
			t.Fatalf("seed %d: %s has %d clusters", seed, s.Name, len(s.Decisions))
		}
	}
	if h.complete() && !maps.Equal(have, target) {
		t.Fatalf("seed %d: a reader takes an incomplete decision for a complete one", seed)
	}
}
