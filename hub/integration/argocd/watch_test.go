//go:build slow

package argocd

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

func keys[V any](in map[string]V) iter.Seq[string] { return maps.Keys(in) }

// recorder records every event of the Applications and of the slices of the placement.
type recorder struct {
	mu sync.Mutex
	// arrived and left count how often a cluster came into the decision and left it; created and deleted count its Applications.
	arrived, left, created, deleted map[string]int
	// decidedAt and createdAt are when the last of it was seen.
	decidedAt, createdAt map[string]time.Time
	// unwritten are the slices that were listed before their decisions were stored.
	unwritten []string
	// ended is why a watch ended.
	ended error
}

// record starts to record, until the end of the test.
func (i *installation) record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{
		arrived: map[string]int{}, left: map[string]int{}, created: map[string]int{}, deleted: map[string]int{},
		decidedAt: map[string]time.Time{}, createdAt: map[string]time.Time{},
	}
	tracker := decision.NewTracker()
	i.watch(t, r, &clusterv1beta1.PlacementDecisionList{}, func(event watch.Event) {
		r.seeSlice(tracker, event.Type, event.Object.(*clusterv1beta1.PlacementDecision))
	}, client.MatchingLabelsSelector{Selector: decision.Selector(placementName)})
	i.watch(t, r, applicationList(), func(event watch.Event) { r.seeApplication(event.Type, clusterOf(event.Object.(client.Object))) })
	return r
}

// watch passes the events of a kind to a function, those of the stored objects first.
func (i *installation) watch(t *testing.T, r *recorder, list client.ObjectList, see func(watch.Event), options ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := i.client.Watch(ctx, list, append(options, client.InNamespace(i.namespace))...)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			r.mu.Lock()
			switch event.Type {
			case watch.Error:
				r.ended = fmt.Errorf("a watch ended: %v", event.Object)
			case watch.Bookmark:
			default:
				see(event)
			}
			r.mu.Unlock()
		}
		if ctx.Err() == nil {
			r.mu.Lock()
			r.ended = fmt.Errorf("a watch ended early")
			r.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		stream.Stop()
		<-done
	})
}

func (r *recorder) seeSlice(tracker *decision.Tracker, what watch.EventType, slice *clusterv1beta1.PlacementDecision) {
	if what == watch.Deleted {
		tracker.Remove(slice.Namespace, slice.Name)
	} else {
		tracker.Update(slice)
		if slice.Status.Decisions == nil {
			r.unwritten = append(r.unwritten, slice.Name)
		}
	}
	_, change := tracker.Take(types.NamespacedName{Namespace: slice.Namespace, Name: placementName})
	for _, name := range change.Added {
		r.arrived[name]++
		r.decidedAt[name] = time.Now()
	}
	for _, name := range change.Removed {
		r.left[name]++
	}
}

func (r *recorder) seeApplication(what watch.EventType, cluster string) {
	switch what {
	case watch.Added:
		r.created[cluster]++
		r.createdAt[cluster] = time.Now()
	case watch.Deleted:
		r.deleted[cluster]++
	default:
	}
}

// check fails the test if an Application was deleted more often than its cluster left the decision, or made more often than its
// cluster came. It also fails if a slice was listed before it was written.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		t.Fatal(r.ended)
	}
	for _, cluster := range slices.Sorted(keys(r.arrived)) {
		if r.deleted[cluster] > r.left[cluster] {
			t.Errorf("%s left the decision %d times, and its Application was deleted %d times", cluster, r.left[cluster], r.deleted[cluster])
		}
		if r.created[cluster] > r.arrived[cluster] {
			t.Errorf("%s came into the decision %d times, and its Application was made %d times", cluster, r.arrived[cluster], r.created[cluster])
		}
	}
	for cluster := range r.created {
		if r.arrived[cluster] == 0 {
			t.Errorf("%s was never selected, and has an Application", cluster)
		}
	}
	if len(r.unwritten) > 0 {
		t.Errorf("slices were listed before their decisions were stored: %v", r.unwritten)
	}
}

// counts returns how many clusters came and left, and how many Applications were made and deleted.
func (r *recorder) counts() (arrived, left, created, deleted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range []struct {
		in  map[string]int
		out *int
	}{{r.arrived, &arrived}, {r.left, &left}, {r.created, &created}, {r.deleted, &deleted}} {
		for _, count := range part.in {
			*part.out += count
		}
	}
	return arrived, left, created, deleted
}

// refreshConstantly lets the controller generate as often as it can, until the returned function is called. It returns how often the
// controller did so.
func (i *installation) refreshConstantly(t *testing.T) (stop func() (generated int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan int, 1)
	go func() {
		generated, turn := 0, 0
		last := time.Time{}
		defer func() { result <- generated }()
		for ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			set := i.applicationSet()
			if err := i.client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
				continue
			}
			_, waits := set.GetAnnotations()[refreshAnnotation]
			if waits && time.Since(last) < refreshAgain {
				continue
			}
			if !waits {
				generated++
			}
			turn++
			last = time.Now()
			_ = i.client.Patch(ctx, set, refreshPatch(turn)) // the next turn repeats it
		}
	}()
	return func() int {
		cancel()
		return <-result
	}
}

// writeUnwrittenSlice stores a slice of the placement without a status, as a writer does that creates before it fills.
func (i *installation) writeUnwrittenSlice(t *testing.T, name string) {
	t.Helper()
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: i.namespace, Name: name,
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel: placementName, clusterv1beta1.DecisionGroupIndexLabel: "0",
			clusterv1beta1.DecisionGroupNameLabel: "",
		},
	}}
	i.client.For(t).MustCreate(slice)
}
