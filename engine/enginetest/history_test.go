package enginetest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	histories        = 150
	eventsPerHistory = 40
)

// history applies outages, recoveries, changes of the spec and crashes of the manager to one placement with a budget and a
// fail-back.
type history struct {
	harness

	random enginetest.Random
	live   *enginetest.Live
	key    fleet.Key
	at     string
	// dropped are the removed clusters that count against the budget, with the time of their removal.
	dropped []departure
	// sizes are the largest numbers of selected clusters at each decision.
	sizes []departure
}

// departure is a removed cluster, or the number of selected clusters, at one instant.
type departure struct {
	at   time.Time
	name string
	size int
}

func newHistory(rig harness, seed uint64, at string) *history {
	random := enginetest.NewRandom(seed + 5<<32)
	w := random.FullState(1)
	key := w.Keys()[0]
	w.Add(random.WithBudget(w.Placements[key]))
	return &history{harness: rig, random: random, live: enginetest.NewLive(w, rig.env), key: key, at: at}
}

// forEachRun applies events and decides after each. check gets every decision before it is applied.
func forEachRun(t *testing.T, n int, check func(t *testing.T, h *history, at string, c decided)) {
	t.Helper()
	t.Parallel()
	overSeeds(t, n, func(t *testing.T, rig harness, seed uint64, at string) {
		h := newHistory(rig, seed, at)
		for n := range eventsPerHistory {
			event := "the start"
			if n > 0 {
				event = h.random.HistoryEvent(h.live)
			}
			check(t, h, fmt.Sprintf("%s, event %d, %s", at, n, event), h.decide())
			if t.Failed() {
				return
			}
		}
	})
}

func (h *history) decide() decided {
	w := h.live.State
	return decided{w, h.live.Snapshot.At(w.Now), h.key, h.live.Decide(h.key)}
}

// apply applies the plan of a decision, in a quarter of the cases until a crash. It records removed clusters, and calls a
// function after each write.
func (h *history) apply(c decided, after func(write plan.Write)) {
	writes := c.plan().Writes
	if h.random.Chance(25) {
		writes = writes[:h.random.IntN(len(writes)+1)]
	}
	counted := h.counted(c)
	for _, write := range writes {
		before := listed(c.state, c.key)
		c.state.Apply(write)
		now := listed(c.state, c.key)
		for _, name := range sorted(before) {
			if !now[name] && counted[name] {
				h.dropped = append(h.dropped, departure{at: c.state.Now, name: name})
			}
		}
		after(write)
	}
	h.live.SlicesChanged(h.key)
}

// counted are the clusters that count against the budget when removed. Clusters that are gone or unreachable, and
// clusters that a change of the spec removes, do not count.
func (h *history) counted(c decided) map[string]bool {
	out := map[string]bool{}
	past := plan.ReadLedger(c.state.Placements[c.key])
	held := map[string]bool{}
	if account := c.state.Placements[c.key].Status.Disruption; account != nil {
		for _, some := range account.Held {
			for _, name := range some.Clusters {
				held[name] = true
			}
		}
	}
	selected := 0
	for name := range union(c.state, c.key) {
		if id, known := c.snapshot.ID(name); known && c.state.Clusters[name] != nil {
			selected++
			code := c.result.Trace.Verdict(id).Code
			out[name] = code != verdict.OutsideSets && code != verdict.Terminating && (past.SameSpec || held[name])
		}
	}
	if wanted := c.state.Placements[c.key].Spec.NumberOfClusters; !past.SameSpec && wanted != nil && int(*wanted) < selected {
		clear(out) // fewer are wanted than selected: the surplus is removed at once
	}
	h.sizes = append(h.sizes, departure{at: c.state.Now, size: max(selected, c.result.Selected)})
	return out
}

// allowed returns how many clusters the budget allows within the interval that ends now, and how many were removed.
func (h *history) allowed() (allowed, went int) {
	compiled, faults := program.Compile(h.live.State.Placements[h.key], h.env)
	if len(faults) > 0 {
		return 0, 0 // no cluster is removed
	}
	within := func(d departure) bool { return d.at.After(h.live.State.Now.Add(-compiled.Budget.Interval)) }
	for _, size := range h.sizes {
		if within(size) {
			allowed = max(allowed, compiled.Budget.Allows(size.size))
		}
	}
	for _, departure := range h.dropped {
		if within(departure) {
			went++
		}
	}
	return allowed, went
}

func TestInNoStretchOfTimeAreMoreClustersDroppedThanTheBudgetAllows(t *testing.T) {
	forEachRun(t, histories, func(t *testing.T, h *history, at string, c decided) {
		h.apply(c, func(write plan.Write) {
			if allowed, went := h.allowed(); went > allowed {
				t.Errorf("%s: %d clusters were dropped within the interval at %s %s, want at most %d: %v",
					at, went, write.Verb, named(write), allowed, h.dropped)
			}
		})
	})
}

func TestNoClusterLeavesBeforeTheBudgetIsSpent(t *testing.T) {
	forEachRun(t, histories, func(t *testing.T, h *history, at string, c decided) {
		h.apply(c, func(write plan.Write) {
			paid := 0
			placement := c.state.Placements[c.key]
			interval := placement.Spec.DisruptionPolicy.Interval.Duration
			if account := placement.Status.Disruption; account != nil {
				for _, spent := range account.Spent {
					if spent.At.Add(interval).After(c.state.Now) {
						paid += int(spent.Count)
					}
				}
			}
			if _, went := h.allowed(); went > paid {
				t.Errorf("%s: %d clusters were dropped within the interval at %s %s, and %d are paid for",
					at, went, write.Verb, named(write), paid)
			}
		})
	})
}

func TestACrashAfterAnyWriteNeverSpendsTwice(t *testing.T) {
	forEachRun(t, histories/3, func(t *testing.T, h *history, at string, c decided) {
		writes := c.plan().Writes
		whole := c.state.Copy()
		for _, write := range writes {
			whole.Apply(write)
		}
		for stop := range writes {
			torn := c.state.Copy()
			for _, write := range writes[:stop] {
				torn.Apply(write)
			}
			again := enginetest.DecidePlacement(torn.Snapshot(), torn.Placements[c.key], h.env)
			for _, write := range plan.Diff(again, torn.Stored(c.key), torn.Now).Writes {
				torn.Apply(write)
			}
			if once, twice := spent(whole, c.key), spent(torn, c.key); once != twice {
				t.Errorf("%s, crash before write %d: %d spent in the end, want %d", at, stop, twice, once)
			}
		}
		h.apply(c, func(plan.Write) {})
	})
}

func spent(w *enginetest.State, key fleet.Key) (sum int) {
	if account := w.Placements[key].Status.Disruption; account != nil {
		for _, spent := range account.Spent {
			sum += int(spent.Count)
		}
	}
	return sum
}

func TestTheClusterHeldFirstIsReleasedFirst(t *testing.T) {
	forEachRun(t, histories, func(t *testing.T, h *history, at string, c decided) {
		choice := c.choice(h.harness)
		past, next := heldSince(c.state.Placements[c.key]), map[string]time.Time{}
		counted := h.counted(c)
		after := c.state.Copy()
		for _, write := range c.plan().Writes {
			after.Apply(write)
		}
		maps.Copy(next, heldSince(after.Placements[c.key]))
		for _, gone := range sorted(past) {
			for _, stays := range sorted(past) {
				if !choice.before[gone] || choice.chosen[gone] || !counted[gone] || !choice.isHeld(stays) {
					continue
				}
				if past[gone].After(past[stays]) && next[stays].Equal(past[stays]) {
					t.Errorf("%s: %s, held since %v, is dropped before %s, held since %v", at, gone, past[gone], stays, past[stays])
				}
			}
		}
		h.apply(c, func(plan.Write) {})
	})
}

func heldSince(placement *clusterv1beta1.Placement) map[string]time.Time {
	out := map[string]time.Time{}
	if account := placement.Status.Disruption; account != nil {
		for _, some := range account.Held {
			for _, name := range some.Clusters {
				out[name] = some.Since.Time
			}
		}
	}
	return out
}

func TestAClusterOfAnEarlierTierDisplacesNoneBeforeItHasQualifiedForLongEnough(t *testing.T) {
	forEachRun(t, histories, func(t *testing.T, h *history, at string, c decided) {
		choice := c.choice(h.harness)
		past := plan.ReadLedger(c.state.Placements[c.key])
		stable := time.Duration(*choice.spec.FailbackPolicy.StabilizationSeconds) * time.Second
		waiting := map[string]time.Time{}
		if account := c.state.Placements[c.key].Status.Failback; account != nil {
			for _, some := range account.Waiting {
				for _, name := range some.Clusters {
					waiting[name] = some.Since.Time
				}
			}
		}
		if c.result.Decided && past.SameSpec && len(choice.constraints()) == 0 { // a domain that is back changes every skew
			fresh := slices.DeleteFunc(sorted(choice.chosen), func(name string) bool {
				since, known := waiting[name]
				return choice.before[name] || known && !c.state.Now.Before(since.Add(stable))
			})
			for _, name := range h.displaced(choice, fresh) {
				t.Errorf("%s: %v displace %s", at, fresh, name)
			}
		}
		h.apply(c, func(plan.Write) {})
	})
}

// displaced are the removed candidates that would stay without the fresh clusters of earlier tiers.
func (h *history) displaced(c choice, fresh []string) []string {
	return slices.DeleteFunc(sorted(c.before), func(name string) bool {
		standing, candidate := c.standing[name]
		if !candidate || c.chosen[name] {
			return true
		}
		without := c.state.Copy()
		for _, other := range fresh {
			if c.standing[other].Tier < standing.Tier {
				delete(without.Clusters, other)
			}
		}
		again := enginetest.DecidePlacement(without.Snapshot(), without.Placements[c.key], h.env)
		return len(without.Clusters) == len(c.state.Clusters) || !slices.Contains(again.Clusters(), name)
	})
}
