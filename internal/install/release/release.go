// Package release removes finalizers from objects that go with their definition, so that the definition can go and be put back.
//
// It removes those of Berth's own controllers, without what these do before: the works and permissions of a cluster stay, and so do the
// works of a set, which a set made anew under its name takes over. The invariant: nothing is deleted.
package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/source/page"
)

// Options configures Release.
type Options struct {
	// Hub reads and writes without a cache, and without the guard of the manager.
	Hub   client.Client
	Clock clock.PassiveClock
	// Clusters and Sets are set where Berth's controllers own the finalizers of clusters, and of sets of works.
	Clusters, Sets bool
	// WorkTimeout is how long a work waits for its agent, which keeps the objects and removes the finalizer; 0: without end.
	WorkTimeout time.Duration
}

// Release removes the finalizers from the objects of definitions that are being deleted. It returns what failed; a repetition continues.
func (o Options) Release(ctx context.Context, definitions []string) error {
	var errs []error
	for _, definition := range definitions {
		var err error
		switch {
		case definition == "managedclusters."+clusterv1.GroupName && o.Clusters:
			err = o.each(ctx, clusterv1.SchemeGroupVersion.WithKind("ManagedCluster"),
				o.withoutFinalizers(clusterv1.ManagedClusterFinalizer, clusterv1.ManagedClusterResourceCleanupFinalizer))
		case definition == "manifestworkreplicasets."+workv1.GroupName && o.Sets:
			err = o.each(ctx, workv1alpha1.SchemeGroupVersion.WithKind("ManifestWorkReplicaSet"), o.releaseSet)
		case definition == "manifestworks."+workv1.GroupName && o.WorkTimeout > 0:
			err = o.each(ctx, workv1.SchemeGroupVersion.WithKind("ManifestWork"), o.releaseWork)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// each visits the objects of a kind that are being deleted. A kind that is gone has none.
func (o Options) each(
	ctx context.Context, kind schema.GroupVersionKind, visit func(context.Context, *metav1.PartialObjectMetadata) error,
) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	var errs []error
	err := page.Each(ctx, o.Hub, list, func(read *metav1.PartialObjectMetadataList) error {
		for i := range read.Items {
			object := &read.Items[i]
			object.SetGroupVersionKind(kind)
			if !object.DeletionTimestamp.IsZero() && len(object.Finalizers) > 0 {
				errs = append(errs, visit(ctx, object))
			}
		}
		return nil
	})
	if err != nil && !isGone(err) {
		errs = append(errs, fmt.Errorf("listing objects of the kind %s: %w", kind.Kind, err))
	}
	return errors.Join(errs...)
}

// isGone reports whether an error means that an object or its kind is not there.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err)
}

// withoutFinalizers returns a function that removes finalizers from an object.
func (o Options) withoutFinalizers(finalizers ...string) func(context.Context, *metav1.PartialObjectMetadata) error {
	return func(ctx context.Context, object *metav1.PartialObjectMetadata) error {
		left := slices.DeleteFunc(slices.Clone(object.Finalizers), func(each string) bool { return slices.Contains(finalizers, each) })
		if len(left) == len(object.Finalizers) {
			return nil
		}
		return o.patch(ctx, object, map[string]any{"resourceVersion": object.ResourceVersion, "finalizers": left})
	}
}

// releaseWork releases a work whose agent has not done so in time.
func (o Options) releaseWork(ctx context.Context, work *metav1.PartialObjectMetadata) error {
	if o.Clock.Since(work.DeletionTimestamp.Time) < o.WorkTimeout {
		return nil
	}
	return o.withoutFinalizers(workv1.ManifestWorkFinalizer)(ctx, work)
}

// releaseSet takes the UID of a set off its works, so that a set made anew takes them over, and then releases the set.
func (o Options) releaseSet(ctx context.Context, set *metav1.PartialObjectMetadata) error {
	if !slices.Contains(set.Finalizers, workv1alpha1.ManifestWorkReplicaSetFinalizer) {
		return nil
	}
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(workv1.SchemeGroupVersion.WithKind("ManifestWorkList"))
	selected := client.MatchingLabels{workv1.ReplicaSetLabel: plan.SetLabelValue(set.Namespace, set.Name)}
	err := page.Each(ctx, o.Hub, works, func(read *metav1.PartialObjectMetadataList) error {
		for i := range read.Items {
			work := &read.Items[i]
			work.SetGroupVersionKind(workv1.SchemeGroupVersion.WithKind("ManifestWork"))
			if !work.DeletionTimestamp.IsZero() || work.Annotations[workv1.OwnerUIDAnnotation] != string(set.UID) {
				continue
			}
			if err := o.patch(ctx, work, map[string]any{"annotations": map[string]any{workv1.OwnerUIDAnnotation: nil}}); err != nil {
				return err
			}
		}
		return nil
	}, selected)
	if err != nil && !isGone(err) {
		return fmt.Errorf("releasing the works of ManifestWorkReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return o.withoutFinalizers(workv1alpha1.ManifestWorkReplicaSetFinalizer)(ctx, set)
}

// patch changes the metadata of an object, unless another object has its name by now.
func (o Options) patch(ctx context.Context, object *metav1.PartialObjectMetadata, changes map[string]any) error {
	changes["uid"] = object.UID
	data, err := json.Marshal(map[string]any{"metadata": changes})
	if err != nil {
		return fmt.Errorf("encoding the metadata of %s %s: %w", object.Kind, object.Name, err)
	}
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	err = o.Hub.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
	if err != nil && !isGone(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("releasing %s %s: %w", object.Kind, name, err)
	}
	return nil
}
