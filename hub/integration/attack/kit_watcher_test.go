package attack

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
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// sliceWatcher watches every slice of a hub. It records changes of decisions in namespaces whose decisions must not change.
type sliceWatcher struct {
	mu sync.Mutex
	// slices are the clusters of every slice, by namespace and name of the slice.
	slices map[types.NamespacedName]*clusterv1beta1.PlacementDecision
	// mayMove are the namespaces whose decisions may change; nil: all namespaces.
	mayMove map[string]bool
	// before are the clusters of every placement at the start of the step.
	before map[types.NamespacedName]string
	moved  []string
}

// watchSlices watches until the end of the test.
func watchSlices(t *testing.T) *sliceWatcher {
	t.Helper()
	to := kit.New(t, shared)
	f := &sliceWatcher{slices: map[types.NamespacedName]*clusterv1beta1.PlacementDecision{}}
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
func (f *sliceWatcher) run(ctx context.Context, to *kit.Client) {
	var list clusterv1beta1.PlacementDecisionList
	if err := to.List(ctx, &list); err != nil {
		return
	}
	f.mu.Lock()
	present := map[types.NamespacedName]bool{}
	for i := range list.Items {
		present[client.ObjectKeyFromObject(&list.Items[i])] = true
		f.record(&list.Items[i], false)
	}
	for key, slice := range f.slices {
		if !present[key] {
			f.record(slice, true)
		}
	}
	f.mu.Unlock()
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
		f.mu.Lock()
		f.record(slice, event.Type == watch.Deleted)
		f.mu.Unlock()
	}
}

// record records a change of a slice.
func (f *sliceWatcher) record(slice *clusterv1beta1.PlacementDecision, deleted bool) {
	key := client.ObjectKeyFromObject(slice)
	if deleted {
		delete(f.slices, key)
	} else {
		f.slices[key] = slice
	}
	of := keyOf(slice)
	if f.before == nil || f.mayMove[of.Namespace] {
		return
	}
	if now := f.clustersOf(of); now != f.before[of] {
		f.moved = append(f.moved, fmt.Sprintf("%s had [%s], and had [%s] after a change of %s", of, f.before[of], now, slice.Name))
	}
}

// clustersOf returns the clusters of a placement, sorted.
func (f *sliceWatcher) clustersOf(placement types.NamespacedName) string {
	out := map[string]bool{}
	for _, slice := range f.slices {
		if keyOf(slice) == placement {
			for _, entry := range slice.Status.Decisions {
				out[entry.ClusterName] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(out)), " ")
}

// begin starts a step in which the decisions of some namespaces may change.
func (f *sliceWatcher) begin(free map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mayMove, f.before = free, map[types.NamespacedName]string{}
	for _, slice := range f.slices {
		if of := keyOf(slice); f.before[of] == "" {
			f.before[of] = f.clustersOf(of)
		}
	}
}

// end returns the forbidden changes since begin.
func (f *sliceWatcher) end() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.moved
	f.moved = nil
	return out
}

// clusters returns the current clusters of a placement.
func (f *sliceWatcher) clusters(namespace, placement string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clustersOf(types.NamespacedName{Namespace: namespace, Name: placement})
}

// resourceVersion is the version from which a watch starts.
func resourceVersion(of string) *metav1.ListOptions { return &metav1.ListOptions{ResourceVersion: of} }
