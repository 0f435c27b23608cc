package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// marker is an annotation of another client, which stays on a decision.
const marker = "example.com/marker"

// sliceWatch follows every event of the decisions of one key, and reports each state that lacks a cluster which stays.
type sliceWatch struct {
	mu sync.Mutex
	// clusters are those of each slice. deletions counts the deleted slices. marked is set once an event has the marker.
	clusters  map[string][]string
	deletions int
	marked    bool
	faults    []string
}

// watchSlices starts to follow the decisions of a key that has all of the clusters which stay.
func (s *state) watchSlices(key string, stay []string) *sliceWatch {
	s.t.Helper()
	matching := []client.ListOption{client.InNamespace(s.namespace), client.MatchingLabels{multiclusterv1alpha1.DecisionKeyLabel: key}}
	list := &multiclusterv1alpha1.PlacementDecisionList{}
	s.MustList(list, matching...)
	out := &sliceWatch{clusters: map[string][]string{}}
	for i := range list.Items {
		out.see(watch.Added, &list.Items[i], nil)
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	stream := kit.Must(s.Watch(s.t.Context(), &multiclusterv1alpha1.PlacementDecisionList{}, append(matching, from)...)).In(s.t)
	s.t.Cleanup(stream.Stop)
	go func() {
		for event := range stream.ResultChan() {
			if slice, ok := event.Object.(*multiclusterv1alpha1.PlacementDecision); ok {
				out.see(event.Type, slice, stay)
			}
		}
	}()
	return out
}

// see records an event, and compares the state after it.
func (s *sliceWatch) see(kind watch.EventType, slice *multiclusterv1alpha1.PlacementDecision, stay []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clusters, slice.Name)
	if kind == watch.Deleted {
		s.deletions++
	} else {
		for _, entry := range slice.Decisions {
			s.clusters[slice.Name] = append(s.clusters[slice.Name], entry.ClusterProfileRef.Name)
		}
	}
	s.marked = s.marked || slice.Annotations[marker] != ""
	has := map[string]bool{}
	for _, clusters := range s.clusters {
		for _, name := range clusters {
			has[name] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(stay), func(name string) bool { return has[name] })
	if len(missing) > 0 && len(s.faults) < 10 {
		s.faults = append(s.faults, fmt.Sprintf("after %s %s, %d clusters are missing, first %s", kind, slice.Name, len(missing), missing[0]))
	}
}

// sources returns the slices of a placement that another client may delete, by name.
func (s *state) sources(ctx context.Context, placement string) ([]clusterv1beta1.PlacementDecision, error) {
	list := &clusterv1beta1.PlacementDecisionList{}
	err := s.List(ctx, list, client.InNamespace(s.namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})
	slices.SortFunc(list.Items, func(a, b clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// awaitRestored waits until a placement has a complete decision without the slices that were deleted.
func (s *state) awaitRestored(placement *clusterv1beta1.Placement, deleted map[types.UID]bool, want int) {
	s.t.Helper()
	s.Await("a placement has a complete decision without the slices that were deleted", func(ctx context.Context) error {
		stored := &clusterv1beta1.Placement{}
		if err := s.Get(ctx, client.ObjectKeyFromObject(placement), stored); err != nil {
			return err
		}
		found, err := s.sources(ctx, placement.Name)
		if err != nil {
			return err
		}
		list := &clusterv1beta1.PlacementDecisionList{Items: found}
		decided := decision.OfList(list)
		obstacles := decided.Obstacles(stored)
		if slices.ContainsFunc(found, func(s clusterv1beta1.PlacementDecision) bool { return deleted[s.UID] }) || len(obstacles) > 0 ||
			decided.Len() != want {
			return fmt.Errorf("%d clusters, %v: %w", decided.Len(), obstacles, errNotYet)
		}
		return nil
	})
}

// TestADeletedSliceRemovesNoClusterFromTheReaders deletes slices of a placement, whose clusters stay selected.
func TestADeletedSliceRemovesNoClusterFromTheReaders(t *testing.T) {
	w := newState(t)
	const count = 105
	for i := range count {
		w.create(kit.Cluster(w.name(fmt.Sprintf("c-%03d", i)), clusterv1beta2.ClusterSetLabel, w.namespace))
	}
	placement := kit.Placement(w.namespace, "web")
	placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(40) // three slices
	w.create(placement)
	w.awaitRestored(placement, nil, count)
	reader := consumer{w: w, key: "web"}
	watched := w.watchSlices("web", reader.awaitDecided())
	for round, remove := range []func(int) bool{
		func(i int) bool { return i == 1 }, func(i int) bool { return i == 2 }, func(i int) bool { return i == 0 },
		func(int) bool { return true }, func(i int) bool { return i != 1 }, func(int) bool { return true },
	} {
		found, err := w.sources(t.Context(), "web")
		if err != nil || len(found) < 3 {
			t.Fatalf("round %d: %d slices: %v", round, len(found), err)
		}
		deleted := map[types.UID]bool{}
		for i := range found {
			if remove(i) {
				deleted[found[i].UID] = true
				w.delete(&found[i])
			}
		}
		w.awaitRestored(placement, deleted, count)
		if got := reader.awaitDecided(); len(got) != count {
			t.Errorf("round %d: the consumer has %d clusters, want %d", round, len(got), count)
		}
	}
	last := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-decision-1"}}
	w.MustMerge(last, `{"metadata":{"annotations":{"`+marker+`":"1"}}}`)
	kit.Await(t, "the reader has seen the incomplete decision", func(context.Context) error {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		if !watched.marked {
			return errNotYet
		}
		return nil
	})
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if len(watched.faults) > 0 {
		t.Errorf("with %d deletions:\n%s", watched.deletions, strings.Join(watched.faults, "\n"))
	}
}
