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
	// maxConcurrent is how many requests of one plan are on their way at the same time.
	maxConcurrent = 10
)

// Journal is told of every slice as it will be, right before the API server is asked to store it, and of every object
// right after the API server stored or deleted it. Where the second does not follow the first, nobody knows whether it
// was stored. It may be called from several goroutines, for different slices.
type Journal interface {
	BeforeWrite(slice *clusterv1beta1.PlacementDecision)
	AfterWrite(slice *clusterv1beta1.PlacementDecision)
	AfterDelete(slice *clusterv1beta1.PlacementDecision)
	AfterStatusWrite(placement *clusterv1beta1.Placement)
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
	run := execution{client: to, journal: journal, latest: map[string]*clusterv1beta1.PlacementDecision{}}
	done := 0
	for rest := p.Writes; len(rest) > 0; {
		batch := rest[:batchSize(rest)]
		rest = rest[len(batch):]
		written, err := run.writeAll(ctx, batch)
		done += written
		if err != nil {
			return Applied{Slices: run.latest, Writes: done}, err
		}
	}
	return Applied{Slices: run.latest, Writes: done}, nil
}

// batchSize returns how many of the next writes are sent at the same time: all that label slices, or all that delete some, up to
// the next write that does anything else. The API has no request that changes several slices, and a reader who lists them
// meanwhile sees a part. So that moment is kept short.
func batchSize(writes []plan.Write) int {
	verb := writes[0].Verb
	if verb != plan.UpdateMetadata && verb != plan.Delete {
		return 1
	}
	for i, write := range writes {
		if write.Verb != verb {
			return i
		}
	}
	return len(writes)
}

// IsConflict says whether an error means no more than that somebody else was faster: the next plan, made from what
// then is, will do. A namespace that is being deleted is such a case: its placement is about to go.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// execution is the state of one Apply: the slices and the placement as their last write returned them.
type execution struct {
	client    client.Client
	journal   Journal
	placement *clusterv1beta1.Placement

	mu     sync.Mutex // guards latest
	latest map[string]*clusterv1beta1.PlacementDecision
}

// writeAll carries out writes of different slices at the same time, and returns how many were done. One that fails keeps no other
// from it.
func (r *execution) writeAll(ctx context.Context, writes []plan.Write) (done int, err error) {
	if len(writes) == 1 {
		if err := r.write(ctx, writes[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	var count atomic.Int64
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
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

func (r *execution) write(ctx context.Context, w plan.Write) error {
	switch w.Verb {
	case plan.Create:
		if err := r.createSlice(ctx, w.Slice); err != nil {
			return err
		}
		return r.updateDecisions(ctx, w.Slice)
	case plan.UpdateDecisions:
		return r.updateDecisions(ctx, w.Slice)
	case plan.UpdateMetadata:
		return r.patchMetadata(ctx, w.Slice)
	case plan.Delete:
		return r.deleteSlice(ctx, w.Slice)
	case plan.UpdateBudget, plan.UpdateStatus:
		return r.updateStatus(ctx, w.Placement)
	default:
		panic(fmt.Sprintf("apply: write with verb %d", w.Verb))
	}
}

func (r *execution) createSlice(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := want.DeepCopy()
	object.Status.Decisions = nil // the API server drops the status of a new object
	r.journal.BeforeWrite(object.DeepCopy())
	if err := r.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating PlacementDecision %s: %w", want.Name, err)
	}
	r.stored(object)
	return nil
}

func (r *execution) updateDecisions(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	next := r.newest(want).DeepCopy()
	next.Status = want.Status
	r.journal.BeforeWrite(next)
	object := &clusterv1beta1.PlacementDecision{ObjectMeta: versioned(next), Status: want.Status}
	if err := r.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the decisions of PlacementDecision %s: %w", want.Name, err)
	}
	r.stored(object)
	return nil
}

func (r *execution) patchMetadata(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	base := r.newest(want)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": want.Labels, "annotations": want.Annotations, "ownerReferences": want.OwnerReferences,
		"uid": base.UID, "resourceVersion": base.ResourceVersion,
	}})
	if err != nil {
		return fmt.Errorf("encoding the labels of PlacementDecision %s: %w", want.Name, err)
	}
	next := want.DeepCopy()
	next.Status = base.Status
	r.journal.BeforeWrite(next)
	object := &clusterv1beta1.PlacementDecision{ObjectMeta: versioned(base)}
	if err := r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("labelling PlacementDecision %s: %w", want.Name, err)
	}
	r.stored(object)
	return nil
}

func (r *execution) deleteSlice(ctx context.Context, slice *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := r.newest(slice)
	fence := client.Preconditions(metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	if err := r.client.Delete(ctx, object, fence); err != nil && !apierrors.IsNotFound(err) { // another may have deleted it first
		return fmt.Errorf("deleting PlacementDecision %s: %w", slice.Name, err)
	}
	r.remember(object)
	r.journal.AfterDelete(object)
	return nil
}

func (r *execution) updateStatus(ctx context.Context, want *clusterv1beta1.Placement) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	base := want
	if r.placement != nil {
		base = r.placement
	}
	object := &clusterv1beta1.Placement{ObjectMeta: versioned(base), Status: want.Status}
	if err := r.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the status of Placement %s/%s: %w", want.Namespace, want.Name, err)
	}
	r.placement = object
	r.journal.AfterStatusWrite(object)
	return nil
}

// newest returns the newest state of a slice that this run knows of. It is read-only.
func (r *execution) newest(slice *clusterv1beta1.PlacementDecision) *clusterv1beta1.PlacementDecision {
	r.mu.Lock()
	defer r.mu.Unlock()
	if latest, ok := r.latest[slice.Name]; ok {
		return latest
	}
	return slice
}

func (r *execution) remember(slice *clusterv1beta1.PlacementDecision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest[slice.Name] = slice
}

func (r *execution) stored(object *clusterv1beta1.PlacementDecision) {
	r.remember(object)
	r.journal.AfterWrite(object)
}

// versioned names an object as it was looked at: the API server refuses to write another one, or another state of it. A write
// of the status takes nothing else from it, and costs the API server less than a patch that says the same.
func versioned(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
}
