package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// writeLog records the writes to decisions: every version of a slice or placement, in order, and every event.
type writeLog struct {
	cancel  context.CancelFunc
	reading sync.WaitGroup

	mu      sync.Mutex
	entries map[objectKey][]objectVersion
	// lastWrite is when the last write was received, events excluded.
	lastWrite time.Time
	err       error
}

// objectKey identifies an object.
type objectKey struct {
	kind objectKind
	name types.NamespacedName
}

type objectKind int

const (
	placementKind objectKind = iota
	sliceKind
	eventKind
)

func kindOf(object client.Object) objectKind {
	switch object.(type) {
	case *clusterv1beta1.Placement:
		return placementKind
	case *clusterv1beta1.PlacementDecision:
		return sliceKind
	default:
		return eventKind
	}
}

// objectVersion is an object after a write. deleted is set if the write deleted it.
type objectVersion struct {
	object  client.Object
	deleted bool
}

// recordWrites starts a log.
func (m *measuredHub) recordWrites(ctx context.Context) (*writeLog, error) {
	ctx, cancel := context.WithCancel(ctx)
	out := &writeLog{cancel: cancel, entries: map[objectKey][]objectVersion{}}
	for _, list := range []client.ObjectList{&clusterv1beta1.PlacementDecisionList{}, &clusterv1beta1.PlacementList{}, &eventsv1.EventList{}} {
		events, err := m.watchFromNow(ctx, list)
		if err != nil {
			_, _, _ = out.stop() // it is empty
			return nil, err
		}
		out.reading.Go(func() { out.read(ctx, m, list, events) })
	}
	return out, nil
}

// watchFromNow watches changes from now on.
func (m *measuredHub) watchFromNow(ctx context.Context, list client.ObjectList) (watch.Interface, error) {
	if err := m.admin.List(ctx, list, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("reading decisions: %w", err)
	}
	return m.watchSince(ctx, list, list.GetResourceVersion())
}

func (m *measuredHub) watchSince(ctx context.Context, list client.ObjectList, since string) (watch.Interface, error) {
	events, err := m.admin.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: since}})
	if err != nil {
		return nil, fmt.Errorf("watching decisions: %w", err)
	}
	return events, nil
}

// read records a watch. It resumes a watch that ends, because an API server ends slow watches.
func (w *writeLog) read(ctx context.Context, s *measuredHub, list client.ObjectList, events watch.Interface) {
	since := list.GetResourceVersion()
	for {
		for event := range events.ResultChan() {
			object, ok := event.Object.(client.Object)
			if ctx.Err() != nil {
				return // a stopped watch ends with an error
			}
			if !ok || event.Type == watch.Error {
				w.fail(fmt.Errorf("watching decisions: %w", apierrors.FromObject(event.Object)))
				return
			}
			since = object.GetResourceVersion()
			w.add(object, event.Type == watch.Deleted)
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if events, err = s.watchSince(ctx, list, since); err != nil {
			w.fail(err)
			return
		}
	}
}

func (w *writeLog) add(object client.Object, gone bool) {
	key := objectKey{kindOf(object), client.ObjectKeyFromObject(object)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries[key] = append(w.entries[key], objectVersion{object, gone})
	if key.kind != eventKind {
		w.lastWrite = time.Now()
	}
}

func (w *writeLog) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

// stop ends the log and returns its content.
func (w *writeLog) stop() (map[objectKey][]objectVersion, time.Time, error) {
	w.cancel()
	w.reading.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entries, w.lastWrite, w.err
}

// objectLog contains the writes to one object, for a replay on another hub.
type objectLog struct {
	versions []objectVersion
	// stored is the object on the other hub, or nil. owner is the uid of the placement of a slice there.
	stored client.Object
	owner  types.UID
}

// objectLogs returns the logs of a write log, for a replay on this hub.
func (m *measuredHub) objectLogs(ctx context.Context, entries map[objectKey][]objectVersion) ([]*objectLog, error) {
	var placements clusterv1beta1.PlacementList
	var stored clusterv1beta1.PlacementDecisionList
	if err := errors.Join(m.admin.List(ctx, &placements), m.admin.List(ctx, &stored)); err != nil {
		return nil, fmt.Errorf("reading decisions: %w", err)
	}
	known, owners := map[objectKey]client.Object{}, map[types.NamespacedName]types.UID{}
	for i := range placements.Items {
		name := client.ObjectKeyFromObject(&placements.Items[i])
		known[objectKey{placementKind, name}], owners[name] = &placements.Items[i], placements.Items[i].UID
	}
	for i := range stored.Items {
		known[objectKey{sliceKind, client.ObjectKeyFromObject(&stored.Items[i])}] = &stored.Items[i]
	}
	out := make([]*objectLog, 0, len(entries))
	for key, versions := range entries {
		owner := types.NamespacedName{Namespace: key.name.Namespace}
		if controller := metav1.GetControllerOf(versions[0].object); controller != nil {
			owner.Name = controller.Name // a new slice lacks the label of its placement
		}
		out = append(out, &objectLog{versions: versions, stored: known[key], owner: owners[owner]})
	}
	return out, nil
}

// replay writes every version in order.
func (o *objectLog) replay(ctx context.Context, to client.Client) error {
	for _, next := range o.versions {
		if err := o.replayVersion(ctx, to, next); err != nil {
			return fmt.Errorf("writing %s again: %w", next.object.GetName(), err)
		}
	}
	return nil
}

func (o *objectLog) replayVersion(ctx context.Context, to client.Client, next objectVersion) error {
	switch object := next.object.(type) {
	case *clusterv1beta1.Placement:
		if now, ok := o.stored.(*clusterv1beta1.Placement); ok {
			now.Status = object.Status
			return to.Status().Update(ctx, now)
		}
	case *clusterv1beta1.PlacementDecision:
		if now, ok := o.stored.(*clusterv1beta1.PlacementDecision); ok {
			return o.change(ctx, to, now, object, next.deleted)
		}
	}
	return o.create(ctx, to, next.object)
}

// create stores an object that is missing. It modifies the recorded object.
func (o *objectLog) create(ctx context.Context, to client.Client, object client.Object) error {
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetManagedFields(nil)
	owners := object.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = o.owner
	}
	object.SetOwnerReferences(owners)
	o.stored = object
	return to.Create(ctx, object)
}

func (o *objectLog) change(ctx context.Context, to client.Client, now, next *clusterv1beta1.PlacementDecision, gone bool) error {
	if gone {
		o.stored = nil
		return to.Delete(ctx, now)
	}
	if !equality.Semantic.DeepEqual(now.Status, next.Status) {
		now.Status = next.Status
		return to.Status().Update(ctx, now)
	}
	now.Labels, now.Annotations = next.Labels, next.Annotations
	return to.Update(ctx, now)
}
