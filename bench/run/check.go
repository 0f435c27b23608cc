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

// oracleSample is how many stored decisions the oracle checks.
const oracleSample = 20

// checkDecisions compares all stored decisions with the engine, and a sample with the oracle.
func (h *hubRun) checkDecisions(ctx context.Context) ([]bench.Figure, error) {
	state, drifted, err := h.readHub(ctx)
	if err != nil {
		return nil, err
	}
	contradicted, err := h.countOracleDifferences(state)
	return append(drifted.figures(), contradicted), err
}

// readHub reads the hub with the manager, and counts the decisions that the engine would change.
func (h *hubRun) readHub(ctx context.Context) (*enginetest.State, drift, error) {
	objects, err := source.List(ctx, h.managed.admin)
	if err != nil {
		return nil, drift{}, err
	}
	state := enginetest.StateOf(objects.All()).At(time.Now())
	drifted, err := h.measureDrift(state)
	return state, drifted, err
}

// drift counts the stored decisions that the engine would change. A decision enqueues no other placement. A dependent
// placement, which reads the decisions of other placements, may therefore drift after its own decision. An independent
// placement must not: its drift means that a change did not enqueue it.
type drift struct {
	// dependent placements read the decisions of other placements, independent ones do not.
	dependent, independent driftCount
	// writes is how many writes would store the decisions of the engine.
	writes int
}

// driftCount is how many placements of a kind there are, and how many the engine would decide differently.
type driftCount struct{ placements, drifted int }

func (d drift) figures() []bench.Figure {
	const name = "decisions that the engine would change"
	figure := func(name string, of driftCount) bench.Figure {
		return bench.Figure{Name: name, Unit: bench.Requests, Value: float64(of.drifted), Detail: fmt.Sprintf("of %d", of.placements)}
	}
	all := driftCount{d.dependent.placements + d.independent.placements, d.dependent.drifted + d.independent.drifted}
	return []bench.Figure{figure(name, all), figure(name+", of those that read nothing of others", d.independent)}
}

func (h *hubRun) measureDrift(state *enginetest.State) (drift, error) {
	env, err := celenv.New()
	if err != nil {
		return drift{}, fmt.Errorf("deciding with the engine: %w", err)
	}
	var out drift
	snapshot := state.Snapshot()
	for _, key := range state.Keys() {
		placement := state.Placements[key]
		of := &out.independent
		if readsOtherDecisions(placement, env) {
			of = &out.dependent
		}
		of.placements++
		writes := plan.Diff(enginetest.DecidePlacement(snapshot, placement, env), state.Stored(key), state.Now)
		if writes.Empty() {
			continue
		}
		of.drifted++
		out.writes += len(writes.Writes)
		h.logf("%s: the engine would make %d writes, to add %v and to remove %v", key, len(writes.Writes), writes.Added, writes.Removed)
	}
	return out, nil
}

// readsOtherDecisions returns whether a placement reads the decisions of other placements: only Balance does.
func readsOtherDecisions(placement *clusterv1beta1.Placement, env *celenv.Env) bool {
	compiled, _ := program.Compile(placement, env) // a misconfigured placement keeps its decisions
	return compiled != nil && compiled.HasPrioritizer(program.Balance)
}

// countOracleDifferences counts the sampled decisions that the oracle would change, given all other decisions.
func (h *hubRun) countOracleDifferences(state *enginetest.State) (bench.Figure, error) {
	oracle, err := enginetest.NewOracle()
	if err != nil {
		return bench.Figure{}, fmt.Errorf("deciding with the oracle: %w", err)
	}
	wrong, sampled := 0, 0
	keys := state.Keys()
	for i := 0; i < len(keys); i += max(1, len(keys)/oracleSample) {
		sampled++
		decided := oracle.Decide(state, keys[i])
		if diff := diffSlices(decided.Slices, state.SlicesOf(keys[i])); diff != "" {
			wrong++
			h.logf("%s: stored is not what the oracle decides (-oracle +stored):\n%s", keys[i], diff)
		}
	}
	return bench.Figure{
		Name: "decisions that the oracle contradicts", Unit: bench.Requests, Value: float64(wrong),
		Detail: fmt.Sprintf("of a sample of %d", sampled),
	}, nil
}

// diffSlices returns the difference between two lists of slices: which clusters are in which slice.
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
