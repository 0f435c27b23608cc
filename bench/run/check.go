package run

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/source"
)

// oracleSample is how many stored decisions the oracle is asked about.
const oracleSample = 20

// checkDecisions holds what is stored against the engine, all of it, and against the oracle, a sample.
func (t *hubRun) checkDecisions(ctx context.Context) ([]bench.Figure, error) {
	world, drifted, err := t.readHub(ctx)
	if err != nil {
		return nil, err
	}
	contradicted, err := t.countOracleDifferences(world)
	return append(drifted.figures(), contradicted), err
}

// readHub reads the hub with the manager, and what has drifted there.
func (t *hubRun) readHub(ctx context.Context) (*enginetest.World, drift, error) {
	objects, err := source.List(ctx, t.managed.admin)
	if err != nil {
		return nil, drift{}, err
	}
	world := enginetest.WorldOf(objects.All()).At(time.Now())
	drifted, err := t.measureDrift(world)
	return world, drifted, err
}

// drift is what the engine would decide otherwise than it is stored. What placements decide wakes nobody, so one that reads what
// others decide may have drifted since it was decided itself. One that reads nothing of it may not: somebody forgot to wake it.
type drift struct {
	// dependent are those that read what others decide, alone those that do not.
	dependent, independent driftCount
	// writes is how many it would take to store what the engine would decide.
	writes int
}

// driftCount is how many placements there are of a kind, and how many of them the engine would decide otherwise.
type driftCount struct{ placements, drifted int }

func (d drift) figures() []bench.Figure {
	const name = "decisions that the engine would change"
	figure := func(name string, of driftCount) bench.Figure {
		return bench.Figure{Name: name, Unit: bench.Requests, Value: float64(of.drifted), Detail: fmt.Sprintf("of %d", of.placements)}
	}
	all := driftCount{d.dependent.placements + d.independent.placements, d.dependent.drifted + d.independent.drifted}
	return []bench.Figure{figure(name, all), figure(name+", of those that read nothing of others", d.independent)}
}

func (t *hubRun) measureDrift(world *enginetest.World) (drift, error) {
	env, err := celenv.New()
	if err != nil {
		return drift{}, fmt.Errorf("asking the engine: %w", err)
	}
	var out drift
	snapshot := world.Snapshot()
	for _, key := range world.Keys() {
		placement := world.Placements[key]
		of := &out.independent
		if readsOtherDecisions(placement, env) {
			of = &out.dependent
		}
		of.placements++
		writes := plan.Diff(enginetest.DecidePlacement(snapshot, placement, env), world.Stored(key), world.Now)
		if writes.Empty() {
			continue
		}
		of.drifted++
		out.writes += len(writes.Writes)
		t.logf("%s: the engine would make %d writes, to add %v and to remove %v", key, len(writes.Writes), writes.Added, writes.Removed)
	}
	return out, nil
}

// readsOtherDecisions says whether a placement reads what others decide: Balance alone does.
func readsOtherDecisions(placement *clusterv1beta1.Placement, env *celenv.Env) bool {
	compiled, _ := program.Compile(placement, env) // one with faults keeps what it has
	return compiled != nil && compiled.HasPrioritizer(program.Balance)
}

// countOracleDifferences counts the stored decisions, of a sample, that the oracle would not leave as they are, given all others as they
// are: a decision is a fixed point.
func (t *hubRun) countOracleDifferences(world *enginetest.World) (bench.Figure, error) {
	oracle, err := enginetest.NewOracle()
	if err != nil {
		return bench.Figure{}, fmt.Errorf("asking the oracle: %w", err)
	}
	wrong, asked := 0, 0
	keys := world.Keys()
	for i := 0; i < len(keys); i += max(1, len(keys)/oracleSample) {
		asked++
		said := oracle.Decide(world, keys[i])
		if diff := diffSlices(said.Slices, world.SlicesOf(keys[i])); diff != "" {
			wrong++
			t.logf("%s: stored is not what the oracle decides (-oracle +stored):\n%s", keys[i], diff)
		}
	}
	return bench.Figure{
		Name: "decisions that the oracle contradicts", Unit: bench.Requests, Value: float64(wrong),
		Detail: fmt.Sprintf("of a sample of %d", asked),
	}, nil
}

// diffSlices says how two lists of slices differ in which clusters are in which slice.
func diffSlices(oracle, stored []*clusterv1beta1.PlacementDecision) string {
	clusters := func(of []*clusterv1beta1.PlacementDecision) map[string][]string {
		out := map[string][]string{}
		for _, slice := range of {
			names := []string{}
			for _, decision := range slice.Status.Decisions {
				names = append(names, decision.ClusterName)
			}
			out[slice.Name] = names
		}
		return out
	}
	return cmp.Diff(clusters(oracle), clusters(stored))
}
