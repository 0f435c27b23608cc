// Package apply executes a plan: it sends the writes to the API server in order. Successive updates of metadata, and successive
// deletions, are sent concurrently. Each write has the uid and the resourceVersion of the object that the plan was made from, so
// it fails with a conflict if another client wrote first.
//
// It decides nothing and never retries. It stops at the first error, and the caller makes a new plan.
package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
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
	// maxConcurrent bounds the concurrent requests of one plan.
	maxConcurrent = 10
)

// Journal records the writes of a plan. BeforeWrite gets each slice as it is sent; one of the others follows with the response of
// the API server. If none follows, it is unknown whether the slice was stored. The methods may be called concurrently for different
// slices.
type Journal interface {
	BeforeWrite(slice *clusterv1beta1.PlacementDecision)
	AfterWrite(slice *clusterv1beta1.PlacementDecision)
	AfterDelete(slice *clusterv1beta1.PlacementDecision)
	AfterStatusWrite(placement *clusterv1beta1.Placement)
}

// Applied is the result of Apply.
type Applied struct {
	// Slices are the written slices as they are stored, and the deleted slices as they were, by name.
	Slices map[string]*clusterv1beta1.PlacementDecision
	// Writes is how many writes were completed. An error belongs to the next one.
	Writes int
}

// Apply executes a plan. The writes before an error stay stored.
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

// batchSize returns how many of the next writes to send concurrently: all successive updates of metadata, or all successive deletions.
// No request changes several slices, so a client that lists them in between sees an incomplete set. Concurrency keeps that
// moment short.
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

// execution is the state of one Apply: the slices and the placement as their last write returned them.
type execution struct {
	client    client.Client
	journal   Journal
	placement *clusterv1beta1.Placement

	mu     sync.Mutex // guards latest
	latest map[string]*clusterv1beta1.PlacementDecision
}

// writeAll sends writes of different slices concurrently, and returns how many were completed. A failure does not stop the others.
func (e *execution) writeAll(ctx context.Context, writes []plan.Write) (done int, err error) {
	if len(writes) == 1 {
		if err := e.write(ctx, writes[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	var count atomic.Int64
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for _, write := range writes {
		group.Go(func() error {
			err := e.write(ctx, write)
			if err == nil {
				count.Add(1)
			}
			return err
		})
	}
	err = group.Wait()
	return int(count.Load()), err
}

func (e *execution) write(ctx context.Context, w plan.Write) error {
	switch w.Verb {
	case plan.Create:
		if err := e.createSlice(ctx, w.Slice); err != nil {
			return err
		}
		return e.updateDecisions(ctx, w.Slice)
	case plan.UpdateDecisions:
		return e.updateDecisions(ctx, w.Slice)
	case plan.UpdateMetadata:
		return e.patchMetadata(ctx, w.Slice)
	case plan.Delete:
		return e.deleteSlice(ctx, w.Slice)
	case plan.UpdateBudget, plan.UpdateStatus:
		return e.updateStatus(ctx, w.Placement)
	default:
		panic(fmt.Sprintf("apply: write with verb %d", w.Verb))
	}
}

func (e *execution) createSlice(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := want.DeepCopy()
	object.Status.Decisions = nil // the API server ignores the status of a new object
	e.journal.BeforeWrite(object.DeepCopy())
	if err := e.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating PlacementDecision %s: %w", want.Name, err)
	}
	e.stored(object)
	return nil
}

func (e *execution) updateDecisions(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	next := e.newest(want).DeepCopy()
	next.Status = want.Status
	e.journal.BeforeWrite(next)
	object := &clusterv1beta1.PlacementDecision{ObjectMeta: versioned(next), Status: want.Status}
	if err := e.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the decisions of PlacementDecision %s: %w", want.Name, err)
	}
	e.stored(object)
	return nil
}

func (e *execution) patchMetadata(ctx context.Context, want *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	base := e.newest(want)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": want.Labels, "annotations": annotationPatch(want.Annotations), "ownerReferences": want.OwnerReferences,
		"uid": base.UID, "resourceVersion": base.ResourceVersion,
	}})
	if err != nil {
		return fmt.Errorf("encoding the labels of PlacementDecision %s: %w", want.Name, err)
	}
	next := want.DeepCopy()
	next.Status = base.Status
	e.journal.BeforeWrite(next)
	object := &clusterv1beta1.PlacementDecision{ObjectMeta: versioned(base)}
	if err := e.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("labelling PlacementDecision %s: %w", want.Name, err)
	}
	e.stored(object)
	return nil
}

// annotationPatch returns the JSON merge patch that sets annotations, and removes the deprecated one where it is not among them.
func annotationPatch(want map[string]string) map[string]any {
	out := map[string]any{clusterv1beta1.DeprecatedDecisionStrategyAnnotation: nil}
	for key, value := range want {
		out[key] = value
	}
	return out
}

func (e *execution) deleteSlice(ctx context.Context, slice *clusterv1beta1.PlacementDecision) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object := e.newest(slice)
	fence := client.Preconditions(metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	if err := e.client.Delete(ctx, object, fence); err != nil && !apierrors.IsNotFound(err) { // another client may have deleted it first
		return fmt.Errorf("deleting PlacementDecision %s: %w", slice.Name, err)
	}
	e.setLatest(object)
	e.journal.AfterDelete(object)
	return nil
}

func (e *execution) updateStatus(ctx context.Context, want *clusterv1beta1.Placement) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	base := want
	if e.placement != nil {
		base = e.placement
	}
	object := &clusterv1beta1.Placement{ObjectMeta: versioned(base), Status: want.Status}
	if err := e.client.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("writing the status of Placement %s/%s: %w", want.Namespace, want.Name, err)
	}
	e.placement = object
	e.journal.AfterStatusWrite(object)
	return nil
}

// newest returns the state of a slice after the last write of this plan. It is read-only.
func (e *execution) newest(slice *clusterv1beta1.PlacementDecision) *clusterv1beta1.PlacementDecision {
	e.mu.Lock()
	defer e.mu.Unlock()
	if latest, ok := e.latest[slice.Name]; ok {
		return latest
	}
	return slice
}

func (e *execution) setLatest(slice *clusterv1beta1.PlacementDecision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.latest[slice.Name] = slice
}

func (e *execution) stored(object *clusterv1beta1.PlacementDecision) {
	e.setLatest(object)
	e.journal.AfterWrite(object)
}

// versioned returns the identity and the version of an object: the API server rejects a write to any other version of it. A write
// of the status takes nothing else from it, and costs the API server less than an equivalent patch.
func versioned(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
}
