// Package apply owns the execution of a plan: it sends the writes to the API server, in order, successive labels and successive
// deletions at the same time, each fenced by the uid
// and the resourceVersion of what the plan was made from. It refuses to decide, to retry and to swallow an error: it
// stops at the first write that fails, and its caller makes a new plan from what then is.
package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/plan"
)

const (
	// Timeout bounds each request.
	Timeout = 30 * time.Second
	// maxTogether is how many requests of one plan are on their way at the same time.
	maxTogether = 10
)

// Journal is told of every slice as it will be, right before the API server is asked to store it, and of every object
// right after the API server stored or deleted it. Where the second does not follow the first, nobody knows whether it
// was stored. It may be called from several goroutines, for different slices.
type Journal interface {
	Trying(slice *clusterv1beta1.PlacementDecision)
	Stored(slice *clusterv1beta1.PlacementDecision)
	Removed(slice *clusterv1beta1.PlacementDecision)
	Reported(placement *clusterv1beta1.Placement)
}

// Applied is what was done of a plan.
type Applied struct {
	// Slices are those that were written, by name, as they are stored, and those that were deleted as they were.
	Slices map[string]*clusterv1beta1.PlacementDecision
	// Writes is how many of the plan's writes were done in full. Where there is an error, it is of the next one.
	Writes int
}

// Apply executes a plan. What was written before an error stays written, and the journal knows of it.
func Apply(ctx context.Context, to client.Client, p plan.Plan, journal Journal) (Applied, error) {
	run := run{client: to, journal: journal, latest: map[string]*clusterv1beta1.PlacementDecision{}}
	done := 0
	for rest := p.Writes; len(rest) > 0; {
		batch := rest[:together(rest)]
		rest = rest[len(batch):]
		written, err := run.all(ctx, batch)
		done += written
		if err != nil {
			return Applied{Slices: run.latest, Writes: done}, err
		}
	}
	return Applied{Slices: run.latest, Writes: done}, nil
}

// together returns how many of the next writes are sent at the same time: all that label slices, or all that delete some, up to
// the next write that does anything else. The API has no request that changes several slices, and a reader who lists them
// meanwhile sees a part. So that moment is kept short.
func together(writes []plan.Write) int {
	verb := writes[0].Verb
	if verb != plan.Mark && verb != plan.Delete {
		return 1
	}
	for i, write := range writes {
		if write.Verb != verb {
			return i
		}
	}
	return len(writes)
}

// Superseded says whether an error means no more than that somebody else was faster: the next plan, made from what
// then is, will do. A namespace that is being deleted is such a case: its placement is about to go.
func Superseded(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// run is the state of one Apply: the slices and the placement as their last write returned them.
type run struct {
	client    client.Client
	journal   Journal
	placement *clusterv1beta1.Placement

	mu     sync.Mutex // guards latest
	latest map[string]*clusterv1beta1.PlacementDecision
}

// all carries out writes of different slices at the same time, and returns how many were done. One that fails keeps no other
// from it.
func (r *run) all(ctx context.Context, writes []plan.Write) (done int, err error) {
	if len(writes) == 1 {
		if err := r.write(ctx, writes[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	var count atomic.Int64
	var group errgroup.Group
	group.SetLimit(maxTogether)
	for _, write := range writes {
		group.Go(func() error {
			err := r.write(ctx, write)
			if err == nil {
				count.Add(1)
			}
			return err
		})
	}
	err = group.Wait()
	return int(count.Load()), err
}

func (r *run) write(ctx context.Context, w plan.Write) error {
	switch w.Verb {
	case plan.Create:
		if err := r.create(ctx, w.Slice); err != nil {
			return err
		}
		return r.fill(ctx, w.Slice)
	case plan.Fill:
		return r.fill(ctx, w.Slice)
	case plan.Mark:
		return r.mark(ctx, w.Slice)
	case plan.Delete:
		return r.remove(ctx, w.Slice)
	case plan.Pledge, plan.Report:
		return r.report(ctx, w.Placement)
	default:
		panic(fmt.Sprintf("apply: write with verb %d", w.Verb))
	}
}

func (r *run) create(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := want.DeepCopy()
	object.Status.Decisions = nil // the API server drops the status of a new object
	r.journal.Trying(object.DeepCopy())
	if err := r.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating PlacementDecision %s: %w", want.Name, err)
	}
	r.stored(object)
	return nil
}

func (r *run) fill(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	next := r.base(want).DeepCopy()
	next.Status = want.Status
	r.journal.Trying(next)
	object := &clusterv1beta1.PlacementDecision{ObjectMeta: fence(next), Status: want.Status}
	if err := r.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the decisions of PlacementDecision %s: %w", want.Name, err)
	}
	r.stored(object)
	return nil
}

func (r *run) mark(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	base := r.base(want)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": want.Labels, "annotations": want.Annotations, "ownerReferences": want.OwnerReferences,
		"uid": base.UID, "resourceVersion": base.ResourceVersion,
	}})
	if err != nil {
		return fmt.Errorf("encoding the labels of PlacementDecision %s: %w", want.Name, err)
	}
	next := want.DeepCopy()
	next.Status = base.Status
	r.journal.Trying(next)
	object := &clusterv1beta1.PlacementDecision{ObjectMeta: fence(base)}
	if err := r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("labelling PlacementDecision %s: %w", want.Name, err)
	}
	r.stored(object)
	return nil
}

func (r *run) remove(ctx context.Context, slice *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := r.base(slice)
	fence := client.Preconditions(metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	if err := r.client.Delete(ctx, object, fence); err != nil && !apierrors.IsNotFound(err) { // another may have deleted it first
		return fmt.Errorf("deleting PlacementDecision %s: %w", slice.Name, err)
	}
	r.remember(object)
	r.journal.Removed(object)
	return nil
}

func (r *run) report(ctx context.Context, want *clusterv1beta1.Placement) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	base := want
	if r.placement != nil {
		base = r.placement
	}
	object := &clusterv1beta1.Placement{ObjectMeta: fence(base), Status: want.Status}
	if err := r.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the status of Placement %s/%s: %w", want.Namespace, want.Name, err)
	}
	r.placement = object
	r.journal.Reported(object)
	return nil
}

// base returns the newest state of a slice that this run knows of. It is read-only.
func (r *run) base(slice *clusterv1beta1.PlacementDecision) *clusterv1beta1.PlacementDecision {
	r.mu.Lock()
	defer r.mu.Unlock()
	if latest, ok := r.latest[slice.Name]; ok {
		return latest
	}
	return slice
}

func (r *run) remember(slice *clusterv1beta1.PlacementDecision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest[slice.Name] = slice
}

func (r *run) stored(object *clusterv1beta1.PlacementDecision) {
	r.remember(object)
	r.journal.Stored(object)
}

// fence names an object as it was looked at: the API server refuses to write another one, or another state of it. A write
// of the status takes nothing else from it, and costs the API server less than a patch that says the same.
func fence(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
}
