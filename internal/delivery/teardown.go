package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/when"
)

const (
	// pageSize is the number of works in a page of a live list, maxPages bounds the pages.
	pageSize, maxPages = 500, 2000
)

var errTooManyPages = errors.New("the API server returned pages without end")

// tearDown deletes the works of a deleted set and lets the set go. After is when to look again.
func (r *reconciler) tearDown(ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet) (after time.Duration, err error) {
	if !controllerutil.ContainsFinalizer(set, workv1alpha1.ManifestWorkReplicaSetFinalizer) {
		return 0, nil
	}
	works, err := r.listLive(ctx, set)
	if err != nil {
		return 0, err
	}
	todo := plan.TeardownOf(set, works)
	now := r.options.Clock.Now()
	deletions := slices.DeleteFunc(slices.Clone(todo.Deletions), func(write plan.Write) bool { return s.faults.Delays(write.Cluster, now) })
	batch := deletions[:min(len(deletions), maxWrites)]
	r.send(ctx, s, set.UID, &specs{}, batch)
	if len(todo.Deletions) > 0 {
		// The next list shows whether they are being deleted.
		return max(when.Shortest(s.faults.NextRetry(now)), 1), nil
	}
	if todo.Done {
		released := set.DeepCopy()
		controllerutil.RemoveFinalizer(released, workv1alpha1.ManifestWorkReplicaSetFinalizer)
		if err := client.IgnoreNotFound(r.patchMetadata(ctx, s, set, released)); err != nil {
			return 0, err
		}
		log.FromContext(ctx).Info("the set is removed from the hub")
		return 0, nil
	}
	wait, err := r.report(ctx, s, set, plan.DeletionStatus(set, todo.Message, metav1.NewTime(now)))
	return when.Shortest(wait, deletionRetry), err
}

// listLive returns the metadata of all works with the label of a set, from the API server.
func (r *reconciler) listLive(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) ([]metav1.PartialObjectMetadata, error) {
	var out []metav1.PartialObjectMetadata
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(workv1.SchemeGroupVersion.WithKind("ManifestWorkList"))
	selected := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
	for range maxPages {
		if err := r.live.List(ctx, list, selected, client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
			return nil, fmt.Errorf("listing the works of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
		}
		if out = append(out, list.Items...); list.Continue == "" {
			return out, nil
		}
	}
	return nil, fmt.Errorf("listing the works of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, errTooManyPages)
}
