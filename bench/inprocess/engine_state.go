package inprocess

import (
	"fmt"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
	"github.com/berth-project/berth/internal/cli/generate"
)

// seed is the seed of every measured fleet.
const seed = 4

// engineState is the state of a manager without its connections to a hub.
type engineState struct {
	fleet    *generate.Fleet
	env      *celenv.Env
	programs []*program.Program
	index    *wake.Index
	// empty is the fleet before the first decision, snapshot the current fleet.
	empty, snapshot *fleet.Snapshot
}

func newEngineState(size Size) (*engineState, error) {
	env, err := celenv.New()
	if err != nil {
		return nil, fmt.Errorf("making a manager: %w", err)
	}
	return &engineState{fleet: generate.New(generate.Shape{Clusters: size.Clusters, Placements: size.Placements, Seed: seed}), env: env}, nil
}

// buildSnapshot builds the snapshot in one edit, as a manager does while its caches fill.
func (e *engineState) buildSnapshot() {
	edit := fleet.Empty().Edit()
	for _, object := range e.fleet.Clusters {
		edit.SetCluster(fleet.NewCluster(object))
	}
	for _, object := range e.fleet.Sets {
		edit.SetSet(fleet.NewSet(object))
	}
	for _, object := range e.fleet.Bindings {
		edit.Bind(object.Namespace, object.Spec.ClusterSet)
	}
	e.empty = edit.Snapshot().At(generate.Epoch)
	e.snapshot = e.empty
}

// compilePrograms compiles the placements, and builds the index from changes to placements.
func (e *engineState) compilePrograms() error {
	e.programs = make([]*program.Program, 0, len(e.fleet.Placements))
	e.index = wake.NewIndex()
	for _, placement := range e.fleet.Placements {
		compiled, faults := program.Compile(placement, e.env)
		if err := faults.ToAggregate(); err != nil {
			return fmt.Errorf("compiling %s: %w", placement.Name, err)
		}
		e.index.Put(e.snapshot, compiled.Key, compiled)
		e.programs = append(e.programs, compiled)
	}
	return nil
}

// decide decides one placement, and returns the result and the snapshot with the decision.
func decide(s *fleet.Snapshot, p *program.Program) (*engine.Result, *fleet.Snapshot) {
	result := engine.Schedule(s, p, ledger.Ledger{})
	edit := s.Edit()
	edit.SetSlices(p.Key, result.Slices())
	return result, edit.Snapshot()
}
