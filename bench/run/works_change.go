package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
)

// worksRounds is how many changes are measured on each side.
const worksRounds = 5

// measureChangedWorks changes the template of one set, and the same works on the open side by turns.
func measureChangedWorks(ctx context.Context, w *works) ([]bench.Figure, error) {
	var managed, open sample
	set := w.sets[0]
	for range worksRounds {
		follower, err := w.managed.watchWorks(ctx, set)
		if err != nil {
			return nil, err
		}
		err = managed.time(func() error {
			if err := w.changeTemplate(ctx, set); err != nil {
				return err
			}
			return follower.await(ctx, len(w.clusters))
		})
		if err != nil {
			return nil, err
		}
		if err := w.managed.awaitIdle(ctx); err != nil {
			return nil, err
		}
		if err := w.copyChange(ctx, set, 0, &open); err != nil {
			return nil, err
		}
	}
	return []bench.Figure{medians("last work patched, beside the bare writes", managed, open)}, nil
}

// medians returns the ratio of the medians of two samples.
func medians(name string, of, beside sample) bench.Figure {
	with, without := of.quantile(0.5), beside.quantile(0.5)
	return bench.Figure{
		Name: name, Unit: bench.Ratio, Value: with.Seconds() / without.Seconds(), Detail: fmt.Sprintf("%s / %s", millis(with), millis(without)),
	}
}

// copyChange patches the works of the open side to what the managed side has, and adds the time. Each patch is followed by a number of
// writes of the status, as agents make them.
func (w *works) copyChange(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet, statuses int, to *sample) error {
	made, err := w.managed.worksOf(ctx, set)
	if err != nil {
		return err
	}
	clients, err := w.open.clients()
	if err != nil {
		return err
	}
	follower, err := w.open.watchWorks(ctx, set)
	if err != nil {
		return err
	}
	return to.time(func() error {
		err := inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
			return copyWork(ctx, clients[hand], &made[i], statuses)
		})
		return errors.Join(err, follower.await(ctx, len(made)))
	})
}

func copyWork(ctx context.Context, to client.Client, made *workv1.ManifestWork, statuses int) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/spec", "value": made.Spec}, {"op": "add", "path": "/metadata/annotations", "value": made.Annotations},
	})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	stored := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: made.Namespace, Name: made.Name}}
	if err := to.Patch(ctx, stored, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return fmt.Errorf("patching a work: %w", err)
	}
	for number := range statuses {
		conditions := append(slices.Clone(made.Status.Conditions), metav1.Condition{
			Type: "Round", Status: metav1.ConditionTrue, Reason: fmt.Sprint("R", number, stored.ResourceVersion), LastTransitionTime: metav1.Now(),
		})
		if err := reportWork(ctx, to, made, conditions); err != nil {
			return err
		}
	}
	return nil
}

// reportWork writes the conditions of a work, as an agent does.
func reportWork(ctx context.Context, as client.Client, of *workv1.ManifestWork, conditions []metav1.Condition) error {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	if err := patchStatus(ctx, as, work, map[string]any{"conditions": conditions}); err != nil {
		return fmt.Errorf("reporting a work: %w", err)
	}
	return nil
}

// measureStatusWrites reports all works of a set as healthy, as fast as plain clients can, and counts the writes of the set's status.
func measureStatusWrites(ctx context.Context, w *works) ([]bench.Figure, error) {
	set := w.sets[0]
	made, err := w.managed.worksOf(ctx, set)
	if err != nil {
		return nil, err
	}
	clients, err := w.managed.clients()
	if err != nil {
		return nil, err
	}
	before, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = inParallel(ctx, len(made), func(ctx context.Context, hand, i int) error {
		return reportWork(ctx, clients[hand], &made[i], healthy(made[i].Generation))
	})
	if err == nil {
		err = w.managed.awaitRolledOut(ctx, set)
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := w.managed.hub.Requests(ctx)
	if err != nil {
		return nil, err
	}
	written := count(after.Since(before), func(r hub.Request) bool {
		return r.Resource == "manifestworkreplicasets" && r.Subresource == "status"
	})
	return []bench.Figure{{
		// The first write and the last are not delayed.
		Name: "status writes of a set while its works report, beside one a second and two", Unit: bench.Ratio,
		Value:  written / (took.Seconds() + 2),
		Detail: fmt.Sprintf("%.0f in %s", written, took.Round(time.Millisecond)),
	}}, nil
}

// healthy returns the conditions of a work whose objects are applied and healthy.
func healthy(generation int64) []metav1.Condition {
	var out []metav1.Condition
	for kind, status := range map[string]metav1.ConditionStatus{
		workv1.WorkApplied: metav1.ConditionTrue, workv1.WorkAvailable: metav1.ConditionTrue,
		workv1.WorkProgressing: metav1.ConditionFalse, workv1.WorkDegraded: metav1.ConditionFalse,
	} {
		out = append(out, metav1.Condition{
			Type: kind, Status: status, Reason: "Bench", ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
		})
	}
	return out
}
