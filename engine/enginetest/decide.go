package enginetest

import (
	"testing"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Env returns a CEL environment.
func Env(tb testing.TB) *celenv.Env {
	tb.Helper()
	env, err := celenv.New()
	if err != nil {
		tb.Fatal(err)
	}
	return env
}

// Decide runs the engine for the only placement of a state.
func Decide(tb testing.TB, w *State) *engine.Result {
	tb.Helper()
	return DecidePlacement(w.Snapshot(), w.Placements[OnlyPlacement(tb, w)], Env(tb))
}

// OnlyPlacement returns the only placement of a state.
func OnlyPlacement(tb testing.TB, w *State) fleet.Key {
	tb.Helper()
	keys := w.Keys()
	if len(keys) != 1 {
		tb.Fatalf("the state has %d placements, want 1", len(keys))
	}
	return keys[0]
}

// Program compiles the only placement of a state, which must be valid.
func Program(tb testing.TB, w *State) *program.Program {
	tb.Helper()
	compiled, faults := program.Compile(w.Placements[OnlyPlacement(tb, w)], Env(tb))
	if len(faults) > 0 {
		tb.Fatal(faults.ToAggregate())
	}
	return compiled
}
