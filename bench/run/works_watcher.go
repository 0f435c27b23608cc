package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
)

// deliveryTimeout is far longer than any delivery of a run.
const deliveryTimeout = 20 * time.Minute

var errNotDelivered = errors.New("not every cluster has the work")

// workWatcher follows the works of a set. An API server may close a watch at any time.
type workWatcher struct {
	side   *measuredHub
	set    *workv1alpha1.ManifestWorkReplicaSet
	events watch.Interface
	// since is the version of the last event.
	since string
}

// watchWorks starts to follow the works of a set, from the present.
func (m *measuredHub) watchWorks(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (*workWatcher, error) {
	list := &workv1.ManifestWorkList{}
	if err := m.admin.List(ctx, list, ofSet(set), client.Limit(1)); err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	out := &workWatcher{side: m, set: set, since: list.ResourceVersion}
	return out, out.watch(ctx)
}

func (w *workWatcher) watch(ctx context.Context) (err error) {
	w.events, err = w.side.admin.Watch(ctx, &workv1.ManifestWorkList{}, ofSet(w.set),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: w.since}})
	if err != nil {
		return fmt.Errorf("watching works: %w", err)
	}
	return nil
}

func ofSet(set *workv1alpha1.ManifestWorkReplicaSet) client.MatchingLabels {
	return client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
}

// await waits until a number of works have another template than before, and stops.
func (w *workWatcher) await(ctx context.Context, count int) error {
	defer func() { w.events.Stop() }()
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	written := map[string]bool{}
	for len(written) < count {
		select {
		case event, open := <-w.events.ResultChan():
			if !open && ctx.Err() == nil {
				if err := w.watch(ctx); err != nil {
					return err
				}
				continue
			}
			object, ok := event.Object.(*workv1.ManifestWork)
			if !ok {
				return fmt.Errorf("watching works: %w: %v", errNotDelivered, event.Object)
			}
			w.since = object.ResourceVersion
			if event.Type == watch.Added || event.Type == watch.Modified {
				written[object.Namespace] = true
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", len(written), count, errNotDelivered)
		}
	}
	return nil
}

// awaitRolledOut waits until a set reports that every cluster succeeded with its present template.
func (m *measuredHub) awaitRolledOut(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) error {
	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deliveryTimeout, true, func(ctx context.Context) (bool, error) {
		if err := m.admin.Get(ctx, client.ObjectKeyFromObject(set), stored); err != nil {
			return false, fmt.Errorf("reading a set: %w", err)
		}
		found := meta.FindStatusCondition(stored.Status.Conditions, workv1alpha1.PlacementRolledOut)
		return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == stored.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for set %s: %w: %+v", set.Name, err, stored.Status)
	}
	return nil
}

// worksOf returns the works of a set.
func (m *measuredHub) worksOf(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) ([]workv1.ManifestWork, error) {
	list := &workv1.ManifestWorkList{}
	if err := m.admin.List(ctx, list, ofSet(set)); err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	return list.Items, nil
}
