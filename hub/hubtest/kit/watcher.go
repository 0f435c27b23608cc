package kit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest"
)

// SliceWatcher watches every slice of a hub. It records changes of decisions that must not change.
type SliceWatcher struct {
	mu sync.Mutex
	// slices are the clusters of every slice, by namespace and name of the slice.
	slices map[types.NamespacedName]*clusterv1beta1.PlacementDecision
	// mayMove reports whether the decision of a placement may change.
	mayMove func(placement types.NamespacedName) bool
	// before are the clusters of every placement at the start of the step.
	before map[types.NamespacedName]string
	moved  []string
}

// WatchSlices watches until the end of the test.
func WatchSlices(t *testing.T, hub *hubtest.Hub) *SliceWatcher {
	t.Helper()
	to := New(t, hub)
	f := &SliceWatcher{slices: map[types.NamespacedName]*clusterv1beta1.PlacementDecision{}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			f.run(ctx, to)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return f
}

// run lists the slices and watches them until the API server ends the watch.
func (s *SliceWatcher) run(ctx context.Context, to *Client) {
	var list clusterv1beta1.PlacementDecisionList
	if err := to.List(ctx, &list); err != nil {
		return
	}
	s.mu.Lock()
	present := map[types.NamespacedName]bool{}
	for i := range list.Items {
		present[client.ObjectKeyFromObject(&list.Items[i])] = true
		s.record(&list.Items[i], false)
	}
	for key, slice := range s.slices {
		if !present[key] {
			s.record(slice, true)
		}
	}
	s.mu.Unlock()
	watching, err := to.Watch(ctx, &clusterv1beta1.PlacementDecisionList{}, &client.ListOptions{Raw: resourceVersion(list.ResourceVersion)})
	if err != nil {
		return
	}
	defer watching.Stop()
	for event := range watching.ResultChan() {
		slice, ok := event.Object.(*clusterv1beta1.PlacementDecision)
		if !ok {
			return
		}
		s.mu.Lock()
		s.record(slice, event.Type == watch.Deleted)
		s.mu.Unlock()
	}
}

// record records a change of a slice.
func (s *SliceWatcher) record(slice *clusterv1beta1.PlacementDecision, deleted bool) {
	key := client.ObjectKeyFromObject(slice)
	if deleted {
		delete(s.slices, key)
	} else {
		s.slices[key] = slice
	}
	of := keyOf(slice)
	if s.before == nil || s.mayMove(of) {
		return
	}
	if now := s.clustersOf(of); now != s.before[of] {
		s.moved = append(s.moved, fmt.Sprintf("%s had [%s], and had [%s] after a change of %s", of, s.before[of], now, slice.Name))
	}
}

// clustersOf returns the clusters of a placement, sorted.
func (s *SliceWatcher) clustersOf(placement types.NamespacedName) string {
	out := map[string]bool{}
	for _, slice := range s.slices {
		if keyOf(slice) == placement {
			for _, entry := range slice.Status.Decisions {
				out[entry.ClusterName] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(out)), " ")
}

// Begin starts a step in which the decisions of some placements may change.
func (s *SliceWatcher) Begin(mayMove func(placement types.NamespacedName) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mayMove, s.before = mayMove, map[types.NamespacedName]string{}
	for _, slice := range s.slices {
		if of := keyOf(slice); s.before[of] == "" {
			s.before[of] = s.clustersOf(of)
		}
	}
}

// End returns the forbidden changes since Begin.
func (s *SliceWatcher) End() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.moved
	s.moved = nil
	return out
}

// Clusters returns the current clusters of a placement, sorted, divided by spaces.
func (s *SliceWatcher) Clusters(namespace, placement string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clustersOf(types.NamespacedName{Namespace: namespace, Name: placement})
}

// keyOf returns the placement of a slice, by its label.
func keyOf(slice *clusterv1beta1.PlacementDecision) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[clusterv1beta1.PlacementLabel]}
}

// resourceVersion is the version from which a watch starts.
func resourceVersion(of string) *metav1.ListOptions { return &metav1.ListOptions{ResourceVersion: of} }
