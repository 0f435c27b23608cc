package enginetest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

const eventsPerSequence = 50

// sequence applies events to one state.
type sequence struct {
	harness
	random enginetest.Random
	event  func(*enginetest.Live) string
	live   *enginetest.Live
	// last is the current result of each placement, outcomes its outcome as JSON.
	last     map[fleet.Key]*engine.Result
	outcomes map[fleet.Key]string
	at       string
}

func newSequence(rig harness, seed uint64, at string) *sequence {
	random := enginetest.NewRandom(seed)
	return &sequence{
		harness: rig, random: random, event: random.Event, live: enginetest.NewLive(random.State(2), rig.env),
		last: map[fleet.Key]*engine.Result{}, outcomes: map[fleet.Key]string{}, at: at,
	}
}

// newFullSequence returns a sequence over a full state.
func newFullSequence(rig harness, seed uint64, at string) *sequence {
	q := newSequence(rig, seed, at)
	q.event, q.live = q.random.FullEvent, enginetest.NewLive(q.random.FullState(2), rig.env)
	return q
}

// step applies an event, or the plan of a placement, wholly or until a crash.
func (s *sequence) step() string {
	if !s.random.Chance(35) {
		return s.event(s.live)
	}
	keys := s.live.State.Keys()
	key := keys[s.random.IntN(len(keys))]
	writes := plan.Diff(s.last[key], s.live.State.Stored(key), s.live.State.Now).Writes
	did := len(writes)
	if did > 0 && s.random.Chance(20) {
		did = s.random.IntN(did)
	}
	for _, write := range writes[:did] {
		s.live.State.Apply(write)
	}
	s.live.SlicesChanged(key)
	return fmt.Sprintf("%d of %d writes of %s", did, len(writes), key)
}

// due reports whether a placement is to be decided again. An instant that is not stored is set anew, and an edit is judged anew while its
// decision, or what of it is known again, is not stored.
func (s *sequence) due(key fleet.Key) bool {
	last := s.last[key]
	if last == nil || s.live.Woken[key] || !last.RecheckAt.IsZero() && !last.RecheckAt.After(s.live.State.Now) {
		return true
	}
	past := plan.ReadLedger(s.live.State.Placements[key])
	if last.Decided && (!past.SameSpec || past.UnknownReferences != "" && past.UnknownReferences != last.Misconfigured.Message) {
		return true
	}
	spec := s.live.State.Placements[key].Spec
	dates := spec.DisruptionPolicy != nil || spec.FailbackPolicy != nil || len(spec.Tiers) > 0
	return dates && (!last.Decided || !plan.Diff(last, s.live.State.Stored(key), s.live.State.Now).Empty())
}

// checkAll decides every due placement and compares all placements with the oracle.
func (s *sequence) checkAll(t *testing.T, after string) {
	t.Helper()
	w := s.live.State
	for _, key := range w.Keys() {
		want := s.oracle.Decide(w, key)
		due := s.due(key)
		if due {
			s.last[key] = s.live.Decide(key)
			got := s.outcome(key)
			if want.JSON() != got.JSON() {
				t.Errorf("%s: %s after %s (-oracle +engine):\n%s", s.at, key, after, cmp.Diff(want, got))
			}
			s.outcomes[key] = got.WithoutStored().JSON()
			continue
		}
		if want := want.WithoutStored(); want.JSON() != s.outcomes[key] {
			got := enginetest.OutcomeOf(s.last[key]).WithoutStored()
			t.Errorf("%s: %s was not woken by: %s (-oracle +engine):\n%s", s.at, key, after, cmp.Diff(want, got))
		}
	}
	clear(s.live.Woken)
}

// outcome returns the outcome of the current result, with the objects after its plan.
func (s *sequence) outcome(key fleet.Key) enginetest.Outcome {
	return enginetest.OutcomeAfter(s.live.State, s.last[key])
}

func TestTheEngineFollowsRandomEventsAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	overSeeds(t, *sequences, func(t *testing.T, rig harness, seed uint64, at string) {
		newSequence(rig, seed, at).follow(t)
	})
}

func TestTheEngineFollowsOutagesAndRecoveriesAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	overSeeds(t, *sequences/2, func(t *testing.T, rig harness, seed uint64, at string) {
		newFullSequence(rig, seed, at).follow(t)
	})
}

func (s *sequence) follow(t *testing.T) {
	t.Helper()
	s.checkAll(t, "the start")
	for n := 0; n < eventsPerSequence && !t.Failed(); n++ {
		s.checkAll(t, fmt.Sprintf("event %d, %s", n, s.step()))
	}
}
