package inprocess

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
)

// repeats is how often the engine repeats a decision that the oracle decides once, because the engine is too fast to measure
// one.
const repeats = 20

var errDiffers = errors.New("the engine and the oracle differ")

// comparedPlacements are the placements, by number, that the oracle decides too. The oracle reads all earlier decisions for
// each of its own, so the last number is small.
func comparedPlacements() []int { return []int{1, 10, 100, 1000} }

// comparison is the average time of engine and oracle for the same placements.
type comparison struct {
	engine, oracle time.Duration
	placements     int
}

// compareWithOracle decides the first placements again from an empty fleet. It checks that every decision is the same as
// before. For some placements it also compares the selected clusters, the verdict on each cluster and the objects to store with
// the oracle.
func (e *engineState) compareWithOracle() (comparison, error) {
	oracle, err := enginetest.NewOracle()
	if err != nil {
		return comparison{}, fmt.Errorf("making an oracle: %w", err)
	}
	var out comparison
	w, s := e.oracleState(), e.empty
	for i := range min(len(e.programs), slices.Max(comparedPlacements())) {
		p, placement := e.programs[i], e.fleet.Placements[i]
		w.Add(placement)
		result, next := decide(s, p)
		if diff := cmp.Diff(e.snapshot.Slices(p.Key), next.Slices(p.Key)); diff != "" {
			return comparison{}, fmt.Errorf("deciding %s twice (-first +second):\n%s: %w", p.Key, diff, errDiffers)
		}
		if slices.Contains(comparedPlacements(), i+1) {
			if err := out.add(oracle, w, result); err != nil {
				return comparison{}, err
			}
		}
		for _, write := range plan.Diff(result, plan.Stored{Placement: placement}, w.Now).Writes {
			w.Apply(write)
		}
		s = next
	}
	out.engine /= time.Duration(out.placements * repeats)
	out.oracle /= time.Duration(out.placements)
	return out, nil
}

// add decides a placement without decisions with the oracle and with the engine, and adds the times.
func (c *comparison) add(oracle *enginetest.Oracle, w *enginetest.State, result *engine.Result) error {
	var want enginetest.Outcome
	took, err := measureCPU(func() error {
		want = oracle.Decide(w, result.Key)
		return nil
	})
	if err != nil {
		return err
	}
	if got := enginetest.OutcomeAfter(w, result); got.JSON() != want.JSON() {
		return fmt.Errorf("deciding %s (-oracle +engine):\n%s: %w", result.Key, cmp.Diff(want, got), errDiffers)
	}
	faster, err := measureCPU(func() error {
		for range repeats {
			if engine.Schedule(result.Trace.Snapshot, result.Trace.Program, ledger.Ledger{}).Selected != result.Selected {
				return fmt.Errorf("deciding %s again: %w", result.Key, errDiffers)
			}
		}
		return nil
	})
	c.engine, c.oracle, c.placements = c.engine+faster, c.oracle+took, c.placements+1
	return err
}

// oracleState returns the fleet in the form of the oracle, without placements.
func (e *engineState) oracleState() *enginetest.State {
	w := enginetest.NewState().At(e.empty.Now)
	for _, object := range e.fleet.Clusters {
		w.Add(object)
	}
	for _, object := range e.fleet.Sets {
		w.Add(object)
	}
	for _, object := range e.fleet.Bindings {
		w.Bind(object.Namespace, object.Spec.ClusterSet)
	}
	return w
}
