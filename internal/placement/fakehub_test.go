package placement

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/placement/live"
)

var errBoom = errors.New("boom")

// fault is the outcome of a write.
type fault int

const (
	writeOK fault = iota
	writeRefused
	requestLost
	responseLost // stored, but the response is lost
)

// fakeHub is an API server in memory, with informers that lag behind it. They show the stored objects later, each kind in order. A
// write with another uid or resourceVersion than the stored object has is a conflict.
type fakeHub struct {
	writing       sync.Mutex
	client.Client // nil: a method that the controller does not use panics

	t       *testing.T
	clock   *clocktesting.FakeClock
	stored  *enginetest.State
	version int
	// pending are the events that the informers have not shown yet, one queue per kind.
	pending [3][]func(informed)
	// fault returns the outcome of the next write.
	fault  func() fault
	writes []string
	// betweenWrites runs before every write.
	betweenWrites func()
}

// informed is what the events of informers reach.
type informed struct {
	*live.Fleet
	*live.Stored
}

func newHub(t *testing.T) *fakeHub {
	return &fakeHub{
		t: t, clock: clocktesting.NewFakeClock(enginetest.Epoch), stored: enginetest.NewState(),
		fault: func() fault { return writeOK }, betweenWrites: func() {},
	}
}

func (h *fakeHub) stamp(object client.Object, fresh bool) {
	h.version++
	object.SetResourceVersion(strconv.Itoa(h.version))
	if fresh {
		object.SetUID(types.UID("uid-" + strconv.Itoa(h.version)))
		object.SetGeneration(1)
	}
}

// putCluster stores a cluster.
func (h *fakeHub) putCluster(c *clusterv1.ManagedCluster) {
	h.stamp(c, false)
	h.stored.Add(c)
	h.deliverLater(0, func(to informed) { to.SetCluster(c) })
}

// putScore stores a score of the add-on "load" for a cluster.
func (h *fakeHub) putScore(cluster string, value int32) {
	s := enginetest.Score(cluster, "load").Value("cpu", value).Obj()
	h.stamp(s, false)
	h.stored.Add(s)
	h.deliverLater(0, func(to informed) { to.SetScore(s) })
}

func (h *fakeHub) deleteCluster(name string) {
	c := h.stored.Clusters[name]
	delete(h.stored.Clusters, name)
	h.deliverLater(0, func(to informed) { to.DeleteCluster(c) })
}

func (h *fakeHub) putPlacement(p *clusterv1beta1.Placement) {
	old, exists := h.stored.Placements[keyOf(p)]
	h.stamp(p, !exists)
	if exists && !sameSpec(old, p) {
		p.Generation = old.Generation + 1
	}
	h.stored.Add(p)
	h.deliverLater(1, func(to informed) { to.SetPlacement(p) })
}

func sameSpec(a, b *clusterv1beta1.Placement) bool {
	one, errA := json.Marshal(a.Spec)
	two, errB := json.Marshal(b.Spec)
	return errA == nil && errB == nil && string(one) == string(two)
}

// deletePlacement deletes a placement. The garbage collector deletes its slices later.
func (h *fakeHub) deletePlacement(p *clusterv1beta1.Placement) {
	delete(h.stored.Placements, keyOf(p))
	h.deliverLater(1, func(to informed) { to.DeletePlacement(p) })
}

// collectGarbage does the work of the garbage collector.
func (h *fakeHub) collectGarbage() {
	owners := map[types.UID]bool{}
	for _, p := range h.stored.Placements {
		owners[p.UID] = true
	}
	for _, slice := range h.sliceList() {
		if owner := metav1.GetControllerOf(slice); owner != nil && !owners[owner.UID] {
			h.deleteSlice(slice)
		}
	}
}

func (h *fakeHub) sliceList() []*clusterv1beta1.PlacementDecision {
	return slices.SortedFunc(maps.Values(h.stored.Slices), func(a, b *clusterv1beta1.PlacementDecision) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
}

func (h *fakeHub) putSlice(s *clusterv1beta1.PlacementDecision) {
	_, exists := h.stored.Slices[nameOf(s)]
	h.stamp(s, !exists)
	h.stored.Add(s)
	h.deliverLater(2, func(to informed) { to.SetSlice(s) })
}

func (h *fakeHub) deleteSlice(s *clusterv1beta1.PlacementDecision) {
	delete(h.stored.Slices, nameOf(s))
	h.deliverLater(2, func(to informed) { to.DeleteSlice(s) })
}

func (h *fakeHub) deliverLater(kind int, event func(informed)) {
	h.pending[kind] = append(h.pending[kind], event)
}

// deliver shows the next event of a kind. Ok is false without an event.
func (h *fakeHub) deliver(kind int, to informed) (ok bool) {
	if len(h.pending[kind]) == 0 {
		return false
	}
	event := h.pending[kind][0]
	h.pending[kind] = h.pending[kind][1:]
	event(to)
	return true
}

// list shows every stored object, as the first lists of informers do, and drops the pending events.
func (h *fakeHub) list(to informed) {
	h.pending = [3][]func(informed){}
	for _, c := range h.stored.Clusters {
		to.SetCluster(c)
	}
	for _, s := range h.stored.Scores {
		to.SetScore(s)
	}
	for _, set := range h.stored.Sets {
		to.SetSet(nil, set)
	}
	for _, key := range h.stored.Keys() {
		to.SetPlacement(h.stored.Placements[key])
	}
	for _, s := range h.sliceList() {
		to.SetSlice(s)
	}
}

// Create implements client.Client for slices.
func (h *fakeHub) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	slice := object.(*clusterv1beta1.PlacementDecision)
	return h.write("create "+slice.Name, func() error {
		if _, exists := h.stored.Slices[nameOf(slice)]; exists {
			return apierrors.NewAlreadyExists(resource(slice), slice.Name)
		}
		fresh := slice.DeepCopy()
		fresh.Status = clusterv1beta1.PlacementDecisionStatus{}
		h.putSlice(fresh)
		fresh.DeepCopyInto(slice)
		return nil
	})
}

// Patch implements client.Client for the metadata of slices.
func (h *fakeHub) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(object)
	slice, ok := object.(*clusterv1beta1.PlacementDecision)
	if err != nil || !ok || patch.Type() != types.MergePatchType {
		h.t.Fatalf("patch of a %T, of type %s: %v", object, patch.Type(), err)
	}
	return h.write("mark "+slice.Name, func() error {
		before, exists := h.stored.Slices[nameOf(slice)]
		if !exists {
			return apierrors.NewNotFound(resource(slice), slice.Name)
		}
		after, err := merged(before, body)
		if err != nil {
			return err
		}
		h.putSlice(after)
		after.DeepCopyInto(slice)
		return nil
	})
}

// Status implements client.Client for slices and placements.
func (h *fakeHub) Status() client.SubResourceWriter { return fakeStatus{nil, h} }

type fakeStatus struct {
	client.SubResourceWriter
	hub *fakeHub
}

// Update stores the status of the object only, and writes the stored object back into it.
func (s fakeStatus) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.hub.write("status of "+object.GetName(), func() error {
		switch next := object.(type) {
		case *clusterv1beta1.PlacementDecision:
			after, err := current(s.hub.stored.Slices[nameOf(next)], next)
			if err != nil {
				return err
			}
			next.Status.DeepCopyInto(&after.Status)
			s.hub.putSlice(after)
			after.DeepCopyInto(next)
		case *clusterv1beta1.Placement:
			after, err := current(s.hub.stored.Placements[keyOf(next)], next)
			if err != nil {
				return err
			}
			next.Status.DeepCopyInto(&after.Status)
			s.hub.putPlacement(after)
			after.DeepCopyInto(next)
		}
		return nil
	})
}

// current returns a copy of the stored object, or the error for a write.
func current[T interface {
	comparable
	client.Object
	DeepCopy() T
}](stored, write T) (T, error) {
	var none T
	if stored == none {
		return none, apierrors.NewNotFound(resource(write), write.GetName())
	}
	return stored.DeepCopy(), checkVersion(write, stored)
}

// checkVersion returns a conflict if the write is for another object, or for another version of it.
func checkVersion(write metav1.Object, stored client.Object) error {
	if write.GetUID() != stored.GetUID() || write.GetResourceVersion() != stored.GetResourceVersion() {
		return apierrors.NewConflict(resource(stored), stored.GetName(), errBoom)
	}
	return nil
}

// Delete implements client.Client for slices.
func (h *fakeHub) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	var with client.DeleteOptions
	with.ApplyOptions(options)
	return h.write("delete "+object.GetName(), func() error {
		slice, exists := h.stored.Slices[nameOf(object)]
		if !exists {
			return apierrors.NewNotFound(resource(object), object.GetName())
		}
		if *with.Preconditions.UID != slice.UID || *with.Preconditions.ResourceVersion != slice.ResourceVersion {
			return apierrors.NewConflict(resource(object), object.GetName(), errBoom)
		}
		h.deleteSlice(slice)
		return nil
	})
}

// merged returns an object with a merge patch applied, or a conflict if the patch is for another version.
func merged[T any](before *T, patch []byte) (*T, error) {
	object := any(before).(client.Object)
	var fence struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(patch, &fence); err != nil {
		return nil, err
	}
	if err := checkVersion(&fence.Metadata, object); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	var stored, change map[string]any
	if err := errors.Join(json.Unmarshal(raw, &stored), json.Unmarshal(patch, &change)); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(mergePatch(stored, change)); err != nil {
		return nil, err
	}
	after := new(T)
	return after, json.Unmarshal(raw, after)
}

// mergePatch implements RFC 7396.
func mergePatch(stored, change map[string]any) map[string]any {
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(stored, key)
		case isMap:
			outer, wasMap := stored[key].(map[string]any)
			if !wasMap {
				outer = map[string]any{}
			}
			stored[key] = mergePatch(outer, inner)
		default:
			stored[key] = value
		}
	}
	return stored
}

// write executes a write with the fault of the hub. Concurrent writes are executed one after the other.
func (h *fakeHub) write(what string, carryOut func() error) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	h.betweenWrites()
	switch h.fault() {
	case writeRefused:
		return apierrors.NewInternalError(errBoom)
	case requestLost:
		return errBoom
	case responseLost:
		_ = carryOut()
		return errBoom
	default:
		h.writes = append(h.writes, what)
		return carryOut()
	}
}

func resource(object client.Object) schema.GroupResource {
	kind := "placementdecisions"
	if _, ok := object.(*clusterv1beta1.Placement); ok {
		kind = "placements"
	}
	return schema.GroupResource{Group: clusterv1beta1.GroupVersion.Group, Resource: kind}
}
