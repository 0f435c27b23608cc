package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// consumer reads the decisions of one key by the text of the KEPs only. It lists all slices of the key, and resolves each reference to a
// profile.
type consumer struct {
	w   *state
	key string
}

// reading is what one list of slices had.
type reading struct {
	// clusters are the referenced profiles, each once, sorted.
	clusters []string
	// torn is why the slices are not one whole decision; empty if they are.
	torn string
	// unresolved are references to profiles that do not exist.
	unresolved []string
}

func (c consumer) read(ctx context.Context) (reading, error) {
	slicesOfKey := &multiclusterv1alpha1.PlacementDecisionList{}
	if err := c.w.List(ctx, slicesOfKey, client.InNamespace(c.w.namespace),
		client.MatchingLabels{"multicluster.x-k8s.io/decision-key": c.key}); err != nil {
		return reading{}, err
	}
	profiles := &multiclusterv1alpha1.ClusterProfileList{}
	if err := c.w.List(ctx, profiles, client.InNamespace(c.w.namespace)); err != nil {
		return reading{}, err
	}
	exists := map[string]bool{}
	for i := range profiles.Items {
		exists[profiles.Items[i].Namespace+"/"+profiles.Items[i].Name] = true
	}
	out := reading{}
	revision, indexes := "", map[int]bool{}
	for i := range slicesOfKey.Items {
		slice := &slicesOfKey.Items[i]
		own := slice.Annotations["multicluster.x-k8s.io/decision-revision"]
		if revision != "" && own != revision {
			out.torn = "revisions differ"
		}
		revision = own
		index, err := strconv.Atoi(slice.Labels["multicluster.x-k8s.io/decision-index"])
		if err != nil {
			return reading{}, fmt.Errorf("slice %s: %w", slice.Name, err)
		}
		indexes[index] = true
		for _, decision := range slice.Decisions {
			out.clusters = append(out.clusters, decision.ClusterProfileRef.Name)
			if !exists[decision.ClusterProfileRef.Namespace+"/"+decision.ClusterProfileRef.Name] {
				out.unresolved = append(out.unresolved, decision.ClusterProfileRef.Name)
			}
		}
	}
	for i := range slicesOfKey.Items {
		if !indexes[i] {
			out.torn = fmt.Sprintf("index %d is missing", i)
		}
	}
	if len(slicesOfKey.Items) == 0 {
		out.torn = "there is no slice"
	}
	slices.Sort(out.clusters)
	out.clusters = slices.Compact(out.clusters)
	return out, nil
}

// await waits until a whole reading has some clusters.
func (c consumer) await(clusters ...string) {
	c.w.t.Helper()
	c.w.Await("a whole reading has some clusters", func(ctx context.Context) error {
		got, err := c.read(ctx)
		if err != nil || got.torn != "" || len(got.unresolved) > 0 || !slices.Equal(got.clusters, clusters) {
			return fmt.Errorf("the reading is %+v, want %v: %w", got, clusters, errors.Join(err, errNotYet))
		}
		return nil
	})
}

// awaitDecided waits until a whole reading has the clusters of the placement, and at least one.
func (c consumer) awaitDecided() []string {
	c.w.t.Helper()
	var out []string
	c.w.Await("a whole reading has the clusters of the placement, and at least one", func(ctx context.Context) error {
		want, err := c.w.Selected(ctx, c.w.namespace, c.key)
		if err != nil {
			return err
		}
		got, err := c.read(ctx)
		if err != nil || got.torn != "" || len(got.unresolved) > 0 || !slices.Equal(got.clusters, want) || len(want) == 0 {
			return fmt.Errorf("a reading of %d clusters (torn: %q, %d without a profile), want %d: %w", len(got.clusters), got.torn,
				len(got.unresolved), len(want), errors.Join(err, errNotYet))
		}
		out = got.clusters
		return nil
	})
	return out
}

// watcher reads without a pause until it is stopped, and reports each reading that lacks a cluster which stays.
type watcher struct {
	consumer

	mu sync.Mutex
	// stay are the clusters that every reading must have.
	stay     []string
	readings int
	torn     map[string]int
	faults   []string
}

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		stay := w.stay
		w.mu.Unlock()
		got, err := w.read(ctx)
		if err != nil {
			continue // the test ends
		}
		w.mu.Lock()
		w.readings++
		w.torn[got.torn]++
		for _, name := range stay {
			if _, found := slices.BinarySearch(got.clusters, name); !found && len(w.faults) < 10 {
				w.faults = append(w.faults, fmt.Sprintf("reading %d lacks %s", w.readings, name))
			}
		}
		if len(got.unresolved) > 0 && got.torn == "" && len(w.faults) < 10 {
			w.faults = append(w.faults, fmt.Sprintf("reading %d refers to no profile: %v", w.readings, got.unresolved))
		}
		w.mu.Unlock()
	}
}

func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.readings
}

func (w *watcher) require(stay []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stay = stay
}

// TestAConsumerFollowsAPlacement moves a placement of several slices in many ways while a consumer reads without a pause.
func TestAConsumerFollowsAPlacement(t *testing.T) {
	w := newState(t)
	const core, extra = 30, 90
	for i := range core {
		w.join(fmt.Sprintf("core-%03d", i), map[string]string{"example.com/part": "core"})
	}
	for i := range extra {
		w.join(fmt.Sprintf("extra-%03d", i), map[string]string{"example.com/part": "extra", "example.com/half": strconv.Itoa(i % 2)})
	}
	placement := kit.Placement(w.namespace, "web")
	w.create(placement)
	reader := consumer{w: w, key: "web"}
	kit.Await(t, "the placement has all its clusters", func(ctx context.Context) error {
		if got, err := w.Selected(ctx, w.namespace, "web"); err != nil || len(got) != core+extra {
			return fmt.Errorf("the placement has %d clusters: %w", len(got), errors.Join(err, errNotYet))
		}
		return nil
	})
	all := reader.awaitDecided()
	stay := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.Contains(name, "-core-") })
	if len(all) != core+extra || len(stay) != core {
		t.Fatalf("%d clusters, %d of them stay", len(all), len(stay))
	}

	ctx, stop := context.WithCancel(t.Context())
	o := &watcher{consumer: reader, torn: map[string]int{}}
	o.require(stay)
	var running sync.WaitGroup
	running.Go(func() { o.run(ctx) })
	selector := func(expressions ...metav1.LabelSelectorRequirement) []clusterv1beta1.ClusterPredicate {
		return []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchExpressions: expressions},
		}}}
	}
	coreFirst := []clusterv1beta1.DecisionGroup{{GroupName: "core", ClusterSelector: clusterv1beta1.GroupClusterSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"example.com/part": "core"}},
	}}}
	steps := []struct {
		name   string
		change func(*clusterv1beta1.PlacementSpec)
		want   int
	}{
		{"only the core", func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates = selector(metav1.LabelSelectorRequirement{Key: "example.com/part", Operator: "In", Values: []string{"core"}})
		}, core},
		{"half of the rest joins", func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates = selector(metav1.LabelSelectorRequirement{Key: "example.com/half", Operator: "NotIn", Values: []string{"1"}})
		}, core + extra/2},
		{"groups of seven", func(s *clusterv1beta1.PlacementSpec) {
			s.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(7)
		}, core + extra/2},
		{"all, with the core in a group of its own", func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates, s.DecisionStrategy.GroupStrategy.DecisionGroups = nil, coreFirst
			s.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(60)
		}, core + extra},
		{"one group again", func(s *clusterv1beta1.PlacementSpec) { s.DecisionStrategy = clusterv1beta1.DecisionStrategy{} }, core + extra},
	}
	for round := 0; round < len(steps) || o.count() < 100 && round < 30; round++ {
		step := steps[round%len(steps)]
		t.Log(step.name)
		change(w, placement, func(p *clusterv1beta1.Placement) { step.change(&p.Spec) })
		stored := kit.Placement(placement.GetNamespace(), placement.GetName())
		w.AwaitObject(stored, "the placement is decided for its new number", func() error {
			if observed := stored.Status.Conditions; len(observed) == 0 || observed[0].ObservedGeneration != placement.Generation ||
				int(stored.Status.NumberOfSelectedClusters) != step.want {
				return fmt.Errorf("the placement has %d clusters: %w", stored.Status.NumberOfSelectedClusters, errNotYet)
			}
			return nil
		})
		if got := reader.awaitDecided(); len(got) != step.want {
			t.Errorf("the consumer has %d clusters, want %d", len(got), step.want)
		}
	}
	stop()
	running.Wait()
	if len(o.faults) > 0 || o.readings < 20 {
		t.Errorf("%d readings, %v:\n%s", o.readings, o.torn, strings.Join(o.faults, "\n"))
	}
	t.Logf("%d readings: %v", o.readings, o.torn)

	t.Log("the decisions go with the placement")
	w.delete(placement)
	kit.Await(t, "the consumer reads that there is no slice", func(ctx context.Context) error {
		if got, err := reader.read(ctx); err != nil || len(got.clusters) > 0 || got.torn != "there is no slice" {
			return fmt.Errorf("the reading has %d clusters: %w", len(got.clusters), errors.Join(err, errNotYet))
		}
		return nil
	})
}
