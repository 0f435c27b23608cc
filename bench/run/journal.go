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

// journal is what is written of decisions from some moment on: every version of a slice or a placement, in order, and every
// event.
type journal struct {
	cancel  context.CancelFunc
	reading sync.WaitGroup

	mu      sync.Mutex
	entries map[journalKey][]version
	// last is when the last of them was read that is no event.
	last time.Time
	err  error
}

// journalKey names an object.
type journalKey struct {
	of   kind
	name types.NamespacedName
}

type kind int

const (
	ofPlacement kind = iota
	ofSlice
	ofEvent
)

func kindOf(object client.Object) kind {
	switch object.(type) {
	case *clusterv1beta1.Placement:
		return ofPlacement
	case *clusterv1beta1.PlacementDecision:
		return ofSlice
	default:
		return ofEvent
	}
}

// version is an object after a write; gone says that the write has deleted it.
type version struct {
	object client.Object
	gone   bool
}

// journal begins one.
func (s *side) journal(ctx context.Context) (*journal, error) {
	ctx, cancel := context.WithCancel(ctx)
	out := &journal{cancel: cancel, entries: map[journalKey][]version{}}
	for _, list := range []client.ObjectList{&clusterv1beta1.PlacementDecisionList{}, &clusterv1beta1.PlacementList{}, &eventsv1.EventList{}} {
		events, err := s.watchFromNow(ctx, list)
		if err != nil {
			_, _, _ = out.stop() // nothing is in it yet
			return nil, err
		}
		out.reading.Go(func() { out.read(ctx, s, list, events) })
	}
	return out, nil
}

// watchFromNow watches what changes from now on.
func (s *side) watchFromNow(ctx context.Context, list client.ObjectList) (watch.Interface, error) {
	if err := s.admin.List(ctx, list, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("reading decisions: %w", err)
	}
	return s.watchSince(ctx, list, list.GetResourceVersion())
}

func (s *side) watchSince(ctx context.Context, list client.ObjectList, since string) (watch.Interface, error) {
	events, err := s.admin.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: since}})
	if err != nil {
		return nil, fmt.Errorf("watching decisions: %w", err)
	}
	return events, nil
}

// read records a watch. One that ends is taken up where it ended: an API server ends those that are read too slowly.
func (j *journal) read(ctx context.Context, s *side, list client.ObjectList, events watch.Interface) {
	since := list.GetResourceVersion()
	for {
		for event := range events.ResultChan() {
			object, ok := event.Object.(client.Object)
			if ctx.Err() != nil {
				return // a watch that is told to end says so as an error
			}
			if !ok || event.Type == watch.Error {
				j.fail(fmt.Errorf("watching decisions: %w", apierrors.FromObject(event.Object)))
				return
			}
			since = object.GetResourceVersion()
			j.add(object, event.Type == watch.Deleted)
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if events, err = s.watchSince(ctx, list, since); err != nil {
			j.fail(err)
			return
		}
	}
}

func (j *journal) add(object client.Object, gone bool) {
	key := journalKey{kindOf(object), client.ObjectKeyFromObject(object)}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[key] = append(j.entries[key], version{object, gone})
	if key.of != ofEvent {
		j.last = time.Now()
	}
}

func (j *journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = errors.Join(j.err, err)
}

// stop ends the journal and returns what is in it.
func (j *journal) stop() (map[journalKey][]version, time.Time, error) {
	j.cancel()
	j.reading.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entries, j.last, j.err
}

// chapter is what was written of one object, to be written again elsewhere.
type chapter struct {
	versions []version
	// now is the object as it is there; nil where there is none. owner is the uid of a slice's placement there.
	now   client.Object
	owner types.UID
}

// chapters are those of a journal, to be written again on this side.
func (s *side) chapters(ctx context.Context, entries map[journalKey][]version) ([]*chapter, error) {
	var placements clusterv1beta1.PlacementList
	var stored clusterv1beta1.PlacementDecisionList
	if err := errors.Join(s.admin.List(ctx, &placements), s.admin.List(ctx, &stored)); err != nil {
		return nil, fmt.Errorf("reading decisions: %w", err)
	}
	known, owners := map[journalKey]client.Object{}, map[types.NamespacedName]types.UID{}
	for i := range placements.Items {
		name := client.ObjectKeyFromObject(&placements.Items[i])
		known[journalKey{ofPlacement, name}], owners[name] = &placements.Items[i], placements.Items[i].UID
	}
	for i := range stored.Items {
		known[journalKey{ofSlice, client.ObjectKeyFromObject(&stored.Items[i])}] = &stored.Items[i]
	}
	out := make([]*chapter, 0, len(entries))
	for key, versions := range entries {
		owner := types.NamespacedName{Namespace: key.name.Namespace}
		if controller := metav1.GetControllerOf(versions[0].object); controller != nil {
			owner.Name = controller.Name // a new slice has no label of its placement yet
		}
		out = append(out, &chapter{versions: versions, now: known[key], owner: owners[owner]})
	}
	return out, nil
}

// write writes every version, one after the other.
func (c *chapter) write(ctx context.Context, to client.Client) error {
	for _, next := range c.versions {
		if err := c.turn(ctx, to, next); err != nil {
			return fmt.Errorf("writing %s again: %w", next.object.GetName(), err)
		}
	}
	return nil
}

func (c *chapter) turn(ctx context.Context, to client.Client, next version) error {
	switch object := next.object.(type) {
	case *clusterv1beta1.Placement:
		if now, ok := c.now.(*clusterv1beta1.Placement); ok {
			now.Status = object.Status
			return to.Status().Update(ctx, now)
		}
	case *clusterv1beta1.PlacementDecision:
		if now, ok := c.now.(*clusterv1beta1.PlacementDecision); ok {
			return c.change(ctx, to, now, object, next.gone)
		}
	}
	return c.create(ctx, to, next.object)
}

// create stores what is not there yet. The object is the journal's no more.
func (c *chapter) create(ctx context.Context, to client.Client, object client.Object) error {
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetManagedFields(nil)
	owners := object.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = c.owner
	}
	object.SetOwnerReferences(owners)
	c.now = object
	return to.Create(ctx, object)
}

func (c *chapter) change(ctx context.Context, to client.Client, now, next *clusterv1beta1.PlacementDecision, gone bool) error {
	if gone {
		c.now = nil
		return to.Delete(ctx, now)
	}
	if !equality.Semantic.DeepEqual(now.Status, next.Status) {
		now.Status = next.Status
		return to.Status().Update(ctx, now)
	}
	now.Labels, now.Annotations = next.Labels, next.Annotations
	return to.Update(ctx, now)
}
