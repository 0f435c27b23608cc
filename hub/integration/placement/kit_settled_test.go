package placement

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/source"
)

// awaitFixedPoint waits until the stored state of the hub is a fixed point: the engine has nothing to write, and the oracle
// decides the same.
func awaitFixedPoint(t *testing.T) {
	t.Helper()
	reader := hubtest.NewClient(t, shared.Config())
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := enginetest.NewOracle()
	if err != nil {
		t.Fatal(err)
	}
	var world *enginetest.World
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		objects, err := source.List(ctx, reader)
		if err != nil {
			return err
		}
		world = enginetest.WorldOf(objects.All()).At(time.Now())
		return checkFixedPoint(world, env)
	})
	snapshot := world.Snapshot()
	for _, key := range world.Keys() {
		engine, oracle := enginetest.EngineOutcome(world, snapshot, key, env), oracle.Decide(world, key)
		if diff := cmp.Diff(oracle.JSON(), engine.JSON()); diff != "" {
			t.Errorf("placement %s: engine and oracle differ (-oracle +engine):\n%s", key, diff)
		}
	}
}

// checkFixedPoint returns an error unless all placements are stored as the engine would decide them.
func checkFixedPoint(world *enginetest.World, env *celenv.Env) error {
	snapshot := world.Snapshot()
	for _, key := range world.Keys() {
		placement := world.Placements[key]
		if !placement.DeletionTimestamp.IsZero() || placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
			continue
		}
		writes := plan.Diff(enginetest.DecidePlacement(snapshot, placement, env), world.Stored(key), world.Now)
		if !writes.Empty() {
			return fmt.Errorf("placement %s is not settled: +%v -%v, %d writes, first %s of %s",
				key, writes.Added, writes.Removed, len(writes.Writes), writes.Writes[0].Verb, cmp.Diff(world.Stored(key).Placement.Status, placementOf(writes)))
		}
	}
	return nil
}

// placementOf returns the status that a plan reports, for messages.
func placementOf(p plan.Plan) clusterv1beta1.PlacementStatus {
	for _, write := range p.Writes {
		if write.Placement != nil {
			return write.Placement.Status
		}
	}
	return clusterv1beta1.PlacementStatus{}
}

// awaitGarbageCollected waits until Kubernetes' controllers have deleted the objects of earlier tests. The API server then counts only
// requests of this test.
func awaitGarbageCollected(t *testing.T) {
	t.Helper()
	reader := hubtest.NewClient(t, shared.Config())
	hubtest.Eventually(t, testTimeout, func(ctx context.Context) error {
		var namespaces corev1.NamespaceList
		var slices clusterv1beta1.PlacementDecisionList
		var placements clusterv1beta1.PlacementList
		if err := errors.Join(reader.List(ctx, &namespaces), reader.List(ctx, &slices), reader.List(ctx, &placements)); err != nil {
			return err
		}
		for _, namespace := range namespaces.Items {
			if !namespace.DeletionTimestamp.IsZero() {
				return fmt.Errorf("namespace %s is still there", namespace.Name)
			}
		}
		owners := map[types.UID]bool{}
		for _, placement := range placements.Items {
			owners[placement.UID] = true
		}
		for _, slice := range slices.Items {
			if owner := metav1.GetControllerOf(&slice); owner == nil || !owners[owner.UID] {
				return fmt.Errorf("slice %s/%s is still there", slice.Namespace, slice.Name)
			}
		}
		return nil
	})
}
