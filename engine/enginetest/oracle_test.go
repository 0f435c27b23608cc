package enginetest_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
)

var (
	seed      = flag.Uint64("seed", 0, "run this one seed")
	states    = flag.Int("states", 20_000, "how many random states to decide")
	sequences = flag.Int("sequences", 2_000, "how many random sequences of events to follow")
	// propertiesAlone shows that a property finds a defect without the oracle.
	propertiesAlone = flag.Bool("properties-alone", false, "do not compare histories of spread with the oracle")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // states are small and many
	os.Exit(m.Run())
}

// overSeeds runs check on every core: for every seed up to n in a long run, for two fifths of them in a slow run and an eighth in others.
// With the flag it runs that seed alone.
func overSeeds(t *testing.T, n int, check func(t *testing.T, rig harness, seed uint64, at string)) {
	t.Helper()
	switch {
	case os.Getenv("BERTH_LONG") != "": // make long sets it
	case os.Getenv("BERTH_THOROUGH") == "1": // make slow sets it
		n = n * 2 / 5
	default:
		n /= 8
	}
	at := func(seed uint64) string {
		return fmt.Sprintf("seed %d (go test ./engine/enginetest -run '^%s$' -seed %d)", seed, t.Name(), seed)
	}
	if *seed > 0 {
		check(t, newHarness(t), *seed, at(*seed))
		return
	}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		rig := newHarness(t)
		wg.Go(func() {
			for i := worker; i < n && !t.Failed(); i += workers {
				one := uint64(i + 1)
				defer func() {
					if problem := recover(); problem != nil {
						t.Errorf("%s panics: %v", at(one), problem)
						panic(problem)
					}
				}()
				check(t, rig, one, at(one))
			}
		})
	}
	wg.Wait()
}

// harness is the state of one worker.
type harness struct {
	env    *celenv.Env
	oracle *enginetest.Oracle
}

func newHarness(t testing.TB) harness {
	t.Helper()
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := enginetest.NewOracle()
	if err != nil {
		t.Fatal(err)
	}
	return harness{env, oracle}
}

func TestTheEngineDecidesRandomStatesAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	overSeeds(t, *states, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed).State(2)
		s := w.Snapshot()
		for _, key := range w.Keys() {
			same(t, at+" "+key.String(), rig.oracle.Decide(w, key), enginetest.EngineOutcome(w, s, key, rig.env))
		}
	})
}

func TestTheEngineDecidesFullStatesAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	overSeeds(t, *states, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed).FullState(2)
		s := w.Snapshot()
		for _, key := range w.Keys() {
			same(t, at+" "+key.String(), rig.oracle.Decide(w, key), enginetest.EngineOutcome(w, s, key, rig.env))
		}
	})
}

func TestTheEngineHoldsWhatFailsAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	held := atomic.Int64{}
	overSeeds(t, *states, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed).WithHold(enginetest.NewRandom(seed).State(2))
		s := w.Snapshot()
		for _, key := range w.Keys() {
			got := enginetest.EngineOutcome(w, s, key, rig.env)
			same(t, at+" "+key.String(), rig.oracle.Decide(w, key), got)
			if meta.FindStatusCondition(got.Status.Conditions, clusterv1beta1.PlacementConditionExpressionHeld) != nil {
				held.Add(1)
			}
		}
	})
	if *seed == 0 && held.Load() < 200 {
		t.Errorf("%d placements hold clusters, want at least 200, or the test shows nothing", held.Load())
	}
}

func TestTheEngineHoldsUnknownReferencesAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	held := atomic.Int64{}
	overSeeds(t, *states/2, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed).WithTypos(enginetest.NewRandom(seed).FullState(2))
		s := w.Snapshot()
		for _, key := range w.Keys() {
			got := enginetest.EngineOutcome(w, s, key, rig.env)
			same(t, at+" "+key.String(), rig.oracle.Decide(w, key), got)
			if got.Misconfigured.Reason == clusterv1beta1.ReasonReferenceHeld {
				held.Add(1)
			}
		}
	})
	if *seed == 0 && held.Load() < 100 {
		t.Errorf("%d placements hold clusters, want at least 100, or the test shows nothing", held.Load())
	}
}

func TestTheEngineKeepsWhatABrakeKeepsAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	kept := atomic.Int64{}
	overSeeds(t, *states/2, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed).WithBrake(enginetest.NewRandom(seed).FullState(2))
		s, free := w.Snapshot(), *w
		free.Braked = nil
		for _, key := range w.Keys() {
			got := enginetest.EngineOutcome(w, s, key, rig.env)
			same(t, at+" "+key.String(), rig.oracle.Decide(w, key), got)
			without := enginetest.EngineOutcome(&free, s, key, rig.env)
			if !without.Decided {
				continue
			}
			for name := range w.Braked[key] {
				if strings.HasPrefix(got.Verdicts[name], "Held") && !strings.HasPrefix(without.Verdicts[name], "Held") &&
					without.Verdicts[name] != "Selected" {
					kept.Add(1)
				}
			}
		}
	})
	if *seed == 0 && kept.Load() < 200 {
		t.Errorf("%d clusters are kept, want at least 200, or the test shows nothing", kept.Load())
	}
}

func same(t *testing.T, at string, want, got enginetest.Outcome) {
	t.Helper()
	if want.JSON() != got.JSON() {
		t.Errorf("%s (-oracle +engine):\n%s", at, cmp.Diff(want, got))
	}
}
