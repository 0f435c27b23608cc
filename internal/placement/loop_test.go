package placement

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/placement/live"
)

// loop is the placement controller of a manager on a hub. The test controls its work queue.
type loop struct {
	*reconciler
	informed informed
	t        *testing.T
	hub      *fakeHub
	env      *celenv.Env
	queued   map[fleet.Key]bool
	due      map[fleet.Key]time.Time
	events   []string
	steps    int
}

// startLoop starts a manager, which lists the stored objects.
func startLoop(t *testing.T, h *fakeHub) *loop {
	t.Helper()
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{t: t, hub: h, env: env, queued: map[fleet.Key]bool{}, due: map[fleet.Key]time.Time{}}
	l.reconciler = &reconciler{
		client: h, clock: h.clock, recorder: eventRecorder{l},
		metrics:     NewMetrics(prometheus.NewRegistry()),
		conflicts:   workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minConflictRetry, maxRetry),
		record:      history.New(history.Options{Clock: h.clock, Env: env}),
		releaseCore: func(reconcile.Request) {},
	}
	enqueue := func(key fleet.Key) { l.queued[key] = true }
	l.scores = newScoreDebouncer(h.clock, enqueue)
	l.informed.Fleet, l.informed.Stored = live.New(env, h.clock,
		func(key fleet.Key, cause explain.Cause) { l.record.AddCause(key, cause); enqueue(key) },
		func(key fleet.Key, cause explain.Cause) { l.record.AddCause(key, cause); l.scores.add(key) })
	l.stored = l.informed.Stored
	h.list(l.informed)
	for namespace, sets := range h.stored.Bindings {
		for set := range sets {
			l.informed.SetBinding(&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}})
		}
	}
	l.informed.Ready()
	l.record.SetLeader(l.stored)
	return l
}

// eventRecorder collects events.
type eventRecorder struct{ loop *loop }

func (r eventRecorder) Eventf(_, related runtime.Object, kind, reason, _, note string, args ...any) {
	name := "nothing"
	if related != nil {
		name = related.(client.Object).GetName()
	}
	r.loop.events = append(r.loop.events, fmt.Sprintf("%s %s of %s: %s", kind, reason, name, fmt.Sprintf(note, args...)))
}

// reconcileOne reconciles a queued placement. The placement is queued again for a retry, or later if it waits for a time.
func (l *loop) reconcileOne(key fleet.Key) {
	l.t.Helper()
	delete(l.queued, key)
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}}
	result, err := l.Reconcile(l.t.Context(), request)
	delete(l.due, key)
	if result.RequeueAfter > 0 {
		l.due[key] = l.clock.Now().Add(result.RequeueAfter)
	}
	if err != nil || l.conflicts.NumRequeues(request) > 0 {
		l.queued[key] = true
	}
}

// advance advances the clock, and enqueues the placements that are due.
func (l *loop) advance(span time.Duration) {
	l.hub.clock.Step(span)
	for key, at := range l.due {
		if !at.After(l.clock.Now()) {
			l.queued[key] = true
		}
	}
}

// queuedKeys returns the queued placements, sorted, so that a seed always gives the same history.
func (l *loop) queuedKeys() []fleet.Key {
	return slices.SortedFunc(maps.Keys(l.queued), fleet.Key.Compare)
}

// nextIndex is a counter, so that the queued placements take turns.
func (l *loop) nextIndex() int {
	l.steps++
	return l.steps
}

// drain delivers every event and reconciles every queued placement until the queue is empty.
func (l *loop) drain() {
	l.t.Helper()
	for range 1000 {
		switch {
		case l.hub.deliver(0, l.informed), l.hub.deliver(1, l.informed), l.hub.deliver(2, l.informed):
		case len(l.queued) > 0:
			l.reconcileOne(l.queuedKeys()[l.nextIndex()%len(l.queued)])
		default:
			return
		}
	}
	l.t.Fatalf("the queue never becomes empty: %v; last writes %v", l.queued, l.hub.writes[max(0, len(l.hub.writes)-10):])
}

// pendingWrites returns an error if a decision on the stored objects would write.
func (l *loop) pendingWrites() error {
	stored := l.hub.stored
	stored.Now = l.clock.Now()
	snapshot := stored.Snapshot()
	for _, key := range stored.Keys() {
		placement := stored.Placements[key]
		if placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
			continue
		}
		writes := plan.Diff(enginetest.DecidePlacement(snapshot, placement, l.env), stored.Stored(key), stored.Now)
		if !writes.Empty() {
			return fmt.Errorf("placement %s: +%v -%v, %d writes, first to %s", key, writes.Added, writes.Removed, len(writes.Writes),
				writes.Writes[0].Verb)
		}
	}
	return nil
}

func keyOf(p *clusterv1beta1.Placement) fleet.Key {
	return fleet.Key{Namespace: p.Namespace, Name: p.Name}
}

func nameOf(object client.Object) fleet.Key {
	return fleet.Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}
