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
	var state *enginetest.State
	Eventually(t, limit, func(ctx context.Context) error {
		objects, err := source.List(ctx, reader)
		if err != nil {
			return fmt.Errorf("reading the hub: %w", err)
		}
		state = enginetest.StateOf(objects.All()).At(clock.RealClock{}.Now())
		return checkFixedPoint(state, env)
	})
	snapshot := state.Snapshot()
	for _, key := range state.Keys() {
		engine, oracle := enginetest.EngineOutcome(state, snapshot, key, env), oracle.Decide(state, key)
		if diff := cmp.Diff(oracle.JSON(), engine.JSON()); diff != "" {
			t.Errorf("placement %s: engine and oracle differ (-oracle +engine):\n%s", key, diff)
		}
	}
}

// checkFixedPoint returns an error unless all placements are stored as the engine would decide them.
func checkFixedPoint(state *enginetest.State, env *celenv.Env) error {
	snapshot := state.Snapshot()
	for _, key := range state.Keys() {
		placement := state.Placements[key]
		if !placement.DeletionTimestamp.IsZero() || placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
			continue
		}
		writes := plan.Diff(enginetest.DecidePlacement(snapshot, placement, env), state.Stored(key), state.Now)
		if !writes.Empty() {
			return fmt.Errorf("placement %s is not settled: +%v -%v, %d writes, first %s of %s",
				key, writes.Added, writes.Removed, len(writes.Writes), writes.Writes[0].Verb,
				cmp.Diff(state.Stored(key).Placement.Status, placementOf(writes)))
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
