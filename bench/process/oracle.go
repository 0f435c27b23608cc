package process

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

// again is how often the engine decides what the oracle decides once: it takes too little time to be measured once.
const again = 20

var errDiffers = errors.New("the engine and the oracle differ")

// asked are the turns at which the oracle is asked too. It reads all decisions made so far for each of its own, so the last
// turn is an early one.
func asked() []int { return []int{1, 10, 100, 1000} }

// beside is how long engine and oracle take for the same placements, on average.
type beside struct {
	engine, oracle time.Duration
	placements     int
}

// askOracle decides the first placements once more, from nothing. It checks that all come out as they did before, and that at
// some turns the oracle says the same of everything: who is chosen, the verdict on each cluster, and what is to be stored.
func (m *manager) askOracle() (beside, error) {
	oracle, err := enginetest.NewOracle()
	if err != nil {
		return beside{}, fmt.Errorf("making an oracle: %w", err)
	}
	var out beside
	w, s := m.world(), m.empty
	for i := range min(len(m.programs), slices.Max(asked())) {
		p, placement := m.programs[i], m.fleet.Placements[i]
		w.Add(placement)
		result, next := decide(s, p)
		if diff := cmp.Diff(m.snapshot.Slices(p.Key), next.Slices(p.Key)); diff != "" {
			return beside{}, fmt.Errorf("deciding %s twice (-first +second):\n%s: %w", p.Key, diff, errDiffers)
		}
		if slices.Contains(asked(), i+1) {
			if err := out.ask(oracle, w, result); err != nil {
				return beside{}, err
			}
		}
		for _, write := range plan.Diff(result, plan.Stored{Placement: placement}, w.Now).Writes {
			w.Apply(write)
		}
		s = next
	}
	out.engine /= time.Duration(out.placements * again)
	out.oracle /= time.Duration(out.placements)
	return out, nil
}

// ask lets both decide a placement of a world in which it has no decision yet.
func (b *beside) ask(oracle *enginetest.Oracle, w *enginetest.World, result *engine.Result) error {
	var want enginetest.Outcome
	took, err := spent(func() error {
		want = oracle.Decide(w, result.Key)
		return nil
	})
	if err != nil {
		return err
	}
	if got := enginetest.After(w, result); got.JSON() != want.JSON() {
		return fmt.Errorf("deciding %s (-oracle +engine):\n%s: %w", result.Key, cmp.Diff(want, got), errDiffers)
	}
	faster, err := spent(func() error {
		for range again {
			if engine.Schedule(result.Trace.Snapshot, result.Trace.Program, ledger.Ledger{}).Selected != result.Selected {
				return fmt.Errorf("deciding %s again: %w", result.Key, errDiffers)
			}
		}
		return nil
	})
	b.engine, b.oracle, b.placements = b.engine+faster, b.oracle+took, b.placements+1
	return err
}

// world returns the fleet as the oracle reads it, without placements.
func (m *manager) world() *enginetest.World {
	w := enginetest.NewWorld().At(m.empty.Now)
	for _, object := range m.fleet.Clusters {
		w.Add(object)
	}
	for _, object := range m.fleet.Sets {
		w.Add(object)
	}
	for _, object := range m.fleet.Bindings {
		w.Bind(object.Namespace, object.Spec.ClusterSet)
	}
	return w
}
