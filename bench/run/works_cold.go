package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

// measureEmptyManager starts the manager, and measures it before there are works.
func measureEmptyManager(ctx context.Context, w *works) ([]bench.Figure, error) {
	var err error
	if w.managed.manager, err = w.managed.hub.StartManager(ctx, deliveryFlag); err != nil {
		return nil, err
	}
	if err := errors.Join(w.managed.awaitIdle(ctx), w.open.awaitIdle(ctx)); err != nil {
		return nil, err
	}
	used, err := w.managed.manager.Usage()
	if err != nil {
		return nil, err
	}
	read, err := w.managed.measureReader(ctx)
	if err != nil {
		return nil, err
	}
	w.emptyCPU, w.emptyReader = used.CPU.Seconds(), read.CPU.Seconds()
	if w.measuresMemory() {
		if w.emptyMemory, _, err = w.managed.stableMemory(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// measuresMemory returns whether there are so many works that their memory is not lost in that of the manager.
func (w *works) measuresMemory() bool { return len(w.clusters)*len(w.sets) >= 5000 }

// measureColdWorks creates the sets one after the other, and the same works on the open side by turns.
func measureColdWorks(ctx context.Context, w *works) ([]bench.Figure, error) {
	before, err := w.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	var managed, open time.Duration
	for _, set := range w.sets {
		took, err := w.createSet(ctx, set)
		if err != nil {
			return nil, err
		}
		managed += took
		if took, err = w.copyWorks(ctx, set); err != nil {
			return nil, err
		}
		open += took
	}
	if err := w.managed.awaitIdle(ctx); err != nil {
		return nil, err
	}
	after, err := w.managed.usage(ctx)
	if err != nil {
		return nil, err
	}
	used, count := after.since(before), float64(len(w.clusters)*len(w.sets))
	return []bench.Figure{
		{
			Name: "works per second, beside the write limit", Unit: bench.Ratio, Value: open.Seconds() / managed.Seconds(),
			Detail: fmt.Sprintf("%s / %s", bench.Format(count/managed.Seconds(), bench.PerSecond),
				bench.Format(count/open.Seconds(), bench.PerSecond)),
		},
		{
			Name: "writes per work", Unit: bench.Ratio, Value: workWrites(used.requests) / count,
			Detail: fmt.Sprintf("%.0f", workWrites(used.requests)),
		},
		{
			Name: "CPU of the manager, beside the API server's", Unit: bench.Ratio, Value: used.manager.Seconds() / used.server.Seconds(),
			Detail: fmt.Sprintf("%.2f s / %.2f s", used.manager.Seconds(), used.server.Seconds()),
		},
	}, nil
}

// createSet stores a set, and returns the time until every cluster has its work.
func (w *works) createSet(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (time.Duration, error) {
	follower, err := w.managed.watchWorks(ctx, set)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := w.managed.admin.Create(ctx, set.DeepCopy()); err != nil {
		return 0, fmt.Errorf("storing a set: %w", err)
	}
	if err := follower.await(ctx, len(w.clusters)); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// copyWorks creates the works of a set on the open side, with plain clients.
func (w *works) copyWorks(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (time.Duration, error) {
	made, err := w.managed.worksOf(ctx, set)
	if err != nil {
		return 0, err
	}
	clients, err := w.open.clients()
	if err != nil {
		return 0, err
	}
	follower, err := w.open.watchWorks(ctx, set)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
		return clients[hand].Create(ctx, bareWork(&made[i]))
	})
	if err != nil {
		return 0, fmt.Errorf("storing works: %w", err)
	}
	return time.Since(began), follower.await(ctx, len(made))
}

// bareWork returns what a client sends to store a work.
func bareWork(of *workv1.ManifestWork) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace, Name: of.Name, Labels: of.Labels, Annotations: of.Annotations, Finalizers: of.Finalizers,
		},
		Spec: of.Spec,
	}
}

// workWrites counts the writes to works, without those to their status.
func workWrites(answered hub.Requests) float64 {
	return count(answered, func(r hub.Request) bool { return r.Resource == "manifestworks" && r.Subresource == "" })
}
