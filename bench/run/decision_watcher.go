package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

const (
	// decideTimeout is far longer than a manager needs for a thousand placements.
	decideTimeout = 5 * time.Minute
	// maxWatches is how many watches may end before the run fails. An API server ends a watch that it cannot serve fast enough.
	maxWatches = 20
)

var errWatch = errors.New("the watch ended")

// decisionWatcher waits for placements to be decided.
type decisionWatcher struct {
	// list returns all placements, and a watch of the later changes.
	list   func(context.Context) ([]clusterv1beta1.Placement, watch.Interface, error)
	events watch.Interface
}

// watchDecisions returns a watcher of the placements of a hub, from now on.
func (m *measuredHub) watchDecisions(ctx context.Context) (*decisionWatcher, error) {
	out := &decisionWatcher{list: func(ctx context.Context) ([]clusterv1beta1.Placement, watch.Interface, error) {
		var now clusterv1beta1.PlacementList
		if err := m.admin.List(ctx, &now); err != nil {
			return nil, nil, fmt.Errorf("listing placements: %w", err)
		}
		since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: now.ResourceVersion}}
		events, err := m.admin.Watch(ctx, &clusterv1beta1.PlacementList{}, since)
		if err != nil {
			return nil, nil, fmt.Errorf("watching placements: %w", err)
		}
		return now.Items, events, nil
	}}
	var err error
	_, out.events, err = out.list(ctx)
	return out, err
}

func (d *decisionWatcher) stop() { d.events.Stop() }

// awaitDecided returns once all of some placements are decided.
func (d *decisionWatcher) awaitDecided(ctx context.Context, wanted ...*clusterv1beta1.Placement) error {
	ctx, cancel := context.WithTimeoutCause(ctx, decideTimeout, errNotNoticed)
	defer cancel()
	waiting := map[types.NamespacedName]bool{}
	for _, placement := range wanted {
		waiting[client.ObjectKeyFromObject(placement)] = true
	}
	err := d.consume(ctx, waiting)
	for range maxWatches {
		if !errors.Is(err, errWatch) {
			break
		}
		d.stop()
		var all []clusterv1beta1.Placement
		if all, d.events, err = d.list(ctx); err != nil {
			return err
		}
		for i := range all {
			markDecided(waiting, &all[i])
		}
		err = d.consume(ctx, waiting)
	}
	if err != nil {
		return fmt.Errorf("waiting for %d placements: %w", len(waiting), err)
	}
	return nil
}

// consume reads the watch until all placements are decided.
func (d *decisionWatcher) consume(ctx context.Context, waiting map[types.NamespacedName]bool) error {
	for len(waiting) > 0 {
		select {
		case event, more := <-d.events.ResultChan():
			switch {
			case !more:
				return errWatch
			case event.Type == watch.Error:
				return fmt.Errorf("%w: %w", errWatch, apierrors.FromObject(event.Object))
			}
			if placement, ok := event.Object.(*clusterv1beta1.Placement); ok {
				markDecided(waiting, placement)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// markDecided removes a decided placement from the waiting placements.
func markDecided(waiting map[types.NamespacedName]bool, placement *clusterv1beta1.Placement) {
	satisfied := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if satisfied != nil && satisfied.ObservedGeneration == placement.Generation {
		delete(waiting, client.ObjectKeyFromObject(placement))
	}
}
