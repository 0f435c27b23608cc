package hubtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source"
)

// AwaitFixedPoint waits until the stored state of the hub is a fixed point: the engine has nothing to write. It then requires that the
// oracle decides the same.
func (h *Hub) AwaitFixedPoint(t testing.TB, limit time.Duration) {
	t.Helper()
	reader := NewClient(t, h.Config())
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := enginetest.NewOracle()
	if err != nil {
		t.Fatal(err)
	}
	var world *enginetest.World
	Eventually(t, limit, func(ctx context.Context) error {
		objects, err := source.List(ctx, reader)
		if err != nil {
			return fmt.Errorf("reading the hub: %w", err)
		}
		world = enginetest.WorldOf(objects.All()).At(clock.RealClock{}.Now())
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
