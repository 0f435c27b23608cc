package scenario

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/internal/source/file"
)

// The resources of a scenario, in the versions that are read.
//
//nolint:gochecknoglobals // names of resources
var (
	Clusters   = clusterv1.GroupVersion.WithResource("managedclusters")
	Sets       = clusterv1beta2.GroupVersion.WithResource("managedclustersets")
	Bindings   = clusterv1beta2.GroupVersion.WithResource("managedclustersetbindings")
	Scores     = clusterv1alpha1.GroupVersion.WithResource("addonplacementscores")
	Placements = clusterv1beta1.GroupVersion.WithResource("placements")
	Decisions  = clusterv1beta1.GroupVersion.WithResource("placementdecisions")
)

// undecided describes the first object that Berth has yet to write; "" if every object is written.
func (h *Hub) undecided(ctx context.Context) (string, error) {
	var objects file.Objects
	err := errors.Join(
		list(ctx, h, Clusters, &objects.Clusters), list(ctx, h, Sets, &objects.Sets), list(ctx, h, Bindings, &objects.Bindings),
		list(ctx, h, Scores, &objects.Scores), list(ctx, h, Placements, &objects.Placements), list(ctx, h, Decisions, &objects.Slices),
	)
	if err != nil {
		return "", err
	}
	for _, cluster := range objects.Clusters {
		if registration.SimulationRequested(cluster) && registration.Condition(cluster, clusterv1.ManagedClusterConditionAvailable) == nil {
			return fmt.Sprintf("cluster %s is simulated and has no condition yet", cluster.Name), nil
		}
	}
	bundle, err := file.NewCompiledBundle(objects)
	if err != nil {
		return "", err
	}
	snapshot := bundle.Snapshot(h.clock.Now())
	for _, placement := range bundle.Placements {
		if placement.DeletionTimestamp != nil || placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
			continue
		}
		key := file.KeyOf(placement)
		result := engine.Decide(snapshot, key, bundle.Programs[key], bundle.Faults[key], plan.ReadLedger(placement))
		writes := plan.Diff(result, plan.Stored{Placement: placement, Slices: bundle.Decisions[key]}, snapshot.Now)
		if !writes.Empty() {
			return fmt.Sprintf("placement %s: the engine would still write %d objects", key, len(writes.Writes)), nil
		}
	}
	return "", nil
}

// list reads every object of a resource.
func list[T any](ctx context.Context, h *Hub, resource schema.GroupVersionResource, into *[]*T) error {
	found, err := h.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	for _, item := range found.Items {
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, typed); err != nil {
			return fmt.Errorf("reading %s: %w", title(&item), err)
		}
		*into = append(*into, typed)
	}
	return nil
}
