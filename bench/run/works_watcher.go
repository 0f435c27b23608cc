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
	"github.com/berth-project/berth/internal/delivery"
)

// deliveryTimeout is far longer than any delivery of a run.
const deliveryTimeout = 20 * time.Minute

var errNotDelivered = errors.New("not every cluster has the work")

// workWatcher follows the works of a set.
type workWatcher struct{ events watch.Interface }

// watchWorks starts to follow the works of a set, from the present.
func (s *measuredHub) watchWorks(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) (*workWatcher, error) {
	list := &workv1.ManifestWorkList{}
	labelled := ofSet(set)
	if err := s.admin.List(ctx, list, labelled, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	events, err := s.admin.Watch(ctx, list, labelled, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return nil, fmt.Errorf("watching works: %w", err)
	}
	return &workWatcher{events}, nil
}

func ofSet(set *workv1alpha1.ManifestWorkReplicaSet) client.MatchingLabels {
	return client.MatchingLabels{workv1.ReplicaSetLabel: delivery.SetLabelValue(set.Namespace, set.Name)}
}

// await waits until a number of works have another template than before, and stops.
func (w *workWatcher) await(ctx context.Context, count int) error {
	defer w.events.Stop()
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	written := map[string]bool{}
	for len(written) < count {
		select {
		case event, open := <-w.events.ResultChan():
			object, ok := event.Object.(*workv1.ManifestWork)
			if !open || !ok {
				return fmt.Errorf("watching works: %w: %v", errNotDelivered, event.Object)
			}
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
func (s *measuredHub) awaitRolledOut(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) error {
	stored := &workv1alpha1.ManifestWorkReplicaSet{}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deliveryTimeout, true, func(ctx context.Context) (bool, error) {
		if err := s.admin.Get(ctx, client.ObjectKeyFromObject(set), stored); err != nil {
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
func (s *measuredHub) worksOf(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) ([]workv1.ManifestWork, error) {
	list := &workv1.ManifestWorkList{}
	if err := s.admin.List(ctx, list, ofSet(set)); err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	return list.Items, nil
}
