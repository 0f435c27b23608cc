package enginetest_test

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

// smallStates is the number of states that are compared with every subset of their clusters.
const smallStates = 5_000

// smallFleet is a state with so few clusters that every subset can be checked.
type smallFleet struct {
	choice

	names []string
	// apart and even have the domain of every cluster for each term. even is by level, and includes the parent domains.
	apart, even [][]string
	skews       []int
}

// smallState draws clusters with a score each, some in tiers and some with a PreferNoSelect taint.
func smallState(r enginetest.Random, modify func(b *enginetest.PlacementBuilder)) *enginetest.State {
	b := enginetest.Placement("ns", "p").Mode("Exact").AddOn("load", "cpu", 1)
	if r.Chance(50) {
		b.TierOf("first", "c0", "c1", "c2", "c3").TierOf("rest")
	}
	if r.Chance(60) {
		b.Number(int32(1 + r.IntN(6)))
	}
	modify(b)
	w := enginetest.NewState(enginetest.Set("all").Obj(), b.Obj()).Bind("ns", "all")
	for i := range 4 + r.IntN(6) {
		name := fmt.Sprintf("c%d", i)
		c := enginetest.Cluster(name).In("all").Label("a", fmt.Sprint(r.IntN(4))).Label("b", fmt.Sprint(r.IntN(3))).Claim("c",
			fmt.Sprint(r.IntN(5)))
		if r.Chance(15) {
			c.Taint("old", clusterv1.TaintEffectPreferNoSelect, enginetest.Epoch)
		}
		w.Add(c.Obj()).Add(enginetest.Score(name, "load").Value("cpu", int32(r.IntN(21)*10-100)).Obj())
	}
	return w
}

// overSmallStates decides states with a placement that modify has changed.
func overSmallStates(t *testing.T, modify func(r enginetest.Random, b *enginetest.PlacementBuilder), check func(at string, s smallFleet)) {
	t.Helper()
	t.Parallel()
	overSeeds(t, smallStates, func(t *testing.T, rig harness, seed uint64, at string) {
		r := enginetest.NewRandom(seed + 7<<32)
		w := smallState(r, func(b *enginetest.PlacementBuilder) { modify(r, b) })
		snapshot, key := w.Snapshot(), enginetest.OnlyPlacement(t, w)
		c := decided{w, snapshot, key, enginetest.DecidePlacement(snapshot, w.Placements[key], rig.env)}
		if !c.result.Decided {
			t.Fatalf("%s: %s", at, c.result.Misconfigured.Message)
		}
		check(at, newSmallFleet(c.choice(rig)))
	})
}

func newSmallFleet(c choice) smallFleet {
	s := smallFleet{choice: c, names: sorted(c.standing)}
	for _, term := range c.spec.SpreadPolicy.AntiAffinity {
		var of []string
		for _, name := range s.names {
			value, _ := enginetest.Domain(c.state.Clusters[name], term.TopologyKeyType, term.TopologyKey)
			of = append(of, value)
		}
		s.apart = append(s.apart, of)
	}
	for i, constraint := range c.constraints() {
		var of []string
		for _, name := range s.names {
			of = append(of, c.domain(name, i+1))
		}
		s.even, s.skews = append(s.even, of), append(s.skews, max(1, int(constraint.MaxSkew)))
	}
	return s
}

// fits reports whether a subset, given as bits, meets every term.
func (s smallFleet) fits(subset uint) bool {
	if wanted := s.spec.NumberOfClusters; wanted != nil && bits.OnesCount(subset) > int(*wanted) {
		return false
	}
	for _, domains := range s.apart {
		for _, n := range s.count(domains, subset) {
			if n > 1 {
				return false
			}
		}
	}
	for level, domains := range s.even {
		count := s.count(domains, subset)
		for domain, n := range count {
			for other, least := range count {
				if parent(domain) == parent(other) && n-least > s.skews[level] {
					return false
				}
			}
		}
	}
	return true
}

// count returns the number of clusters of a subset in each domain.
func (s smallFleet) count(domains []string, subset uint) map[string]int {
	out := map[string]int{}
	for i, domain := range domains {
		out[domain] += int(subset >> i & 1)
	}
	return out
}

// parent returns the parent of a domain.
func parent(domain string) string { return domain[:max(0, strings.LastIndex(domain, "\x00"))] }

// worth is what subsets are compared by.
type worth struct {
	size  int
	kinds []int
	total int
}

// worth returns the size of a subset, its tiers and penalties, and its total score.
func (s smallFleet) worth(subset uint) worth {
	var out worth
	for i, name := range s.names {
		if subset>>i&1 == 1 {
			standing := s.standing[name]
			kind := 2 * standing.Tier
			if standing.Penalized {
				kind++
			}
			out.size++
			out.kinds = append(out.kinds, kind)
			out.total += standing.Total
		}
	}
	slices.Sort(out.kinds)
	return out
}

// compare is negative if a is better.
func compare(a, b worth) int {
	return cmp.Or(cmp.Compare(b.size, a.size), slices.Compare(a.kinds, b.kinds), cmp.Compare(b.total, a.total))
}

// best returns the worth of the best subset.
func (s smallFleet) best() worth {
	best := worth{}
	for left := range uint(1) << len(s.names) {
		subset := uint(1)<<len(s.names) - 1 - left // large ones first, so that few are looked at twice
		if bits.OnesCount(subset) < best.size {
			continue
		}
		if made := s.worth(subset); compare(made, best) < 0 && s.fits(subset) {
			best = made
		}
	}
	return best
}

// made returns the choice of the engine as a subset.
func (s smallFleet) made() uint {
	subset := uint(0)
	for i, name := range s.names {
		if s.chosen[name] {
			subset |= 1 << i
		}
	}
	return subset
}

func TestAntiAffinityOverOneKeySelectsTheBestOfAllSelections(t *testing.T) {
	overSmallStates(t, func(r enginetest.Random, b *enginetest.PlacementBuilder) {
		b.Apart(one(r))
	}, func(at string, s smallFleet) {
		if best, made := s.best(), s.worth(s.made()); compare(best, made) != 0 || !s.fits(s.made()) {
			t.Errorf("%s: made %+v of %v, want %+v", at, made, sorted(s.chosen), best)
		}
	})
}

func TestHardSpreadSelectsAsManyClustersAsIsPossible(t *testing.T) {
	overSmallStates(t, func(r enginetest.Random, b *enginetest.PlacementBuilder) {
		for i, key := range []string{"a", "b"}[:1+r.IntN(2)] {
			b.Even(clusterv1beta1.TopologyKeyTypeLabel, key, int32(1+r.IntN(3)), i == 0 || r.Chance(80))
		}
	}, func(at string, s smallFleet) {
		s.dropSoft()
		if best, made := s.best(), s.worth(s.made()); best.size != made.size || !s.fits(s.made()) {
			t.Errorf("%s: selected %v, %d of %d", at, sorted(s.chosen), made.size, best.size)
		}
	})
}

// dropSoft removes soft constraints.
func (s *smallFleet) dropSoft() {
	for i, constraint := range slices.Backward(s.constraints()) {
		if constraint.WhenUnsatisfiable != clusterv1beta1.DoNotSchedule {
			s.even, s.skews = slices.Delete(s.even, i, i+1), slices.Delete(s.skews, i, i+1)
		}
	}
}

// one draws a topology of a small state.
func one(r enginetest.Random) (kind clusterv1beta1.TopologyKeyType, key string) {
	if n := r.IntN(3); n < 2 {
		return clusterv1beta1.TopologyKeyTypeLabel, []string{"a", "b"}[n]
	}
	return clusterv1beta1.TopologyKeyTypeClaim, "c"
}

// shortfall sums up how far choices are from the best.
type shortfall struct {
	sync.Mutex

	states, optimal, missing, wanted, worst int
}

func (s *shortfall) add(best, made int) {
	s.Lock()
	defer s.Unlock()
	s.states++
	s.wanted += best
	s.missing += best - made
	s.worst = max(s.worst, best-made)
	if best == made {
		s.optimal++
	}
}

// check logs the figures and compares them with bounds that were measured with margin.
func (s *shortfall) check(t *testing.T, optimal float64, missing float64, worst int) {
	t.Helper()
	share, lost := float64(s.optimal)/float64(s.states), float64(s.missing)/float64(s.wanted)
	t.Logf("%d states: as many clusters as possible in %.2f %%, %.2f %% of all possible clusters missing, %.4f a state, at most %d",
		s.states, 100*share, 100*lost, float64(s.missing)/float64(s.states), s.worst)
	if *seed == 0 && (share < optimal || lost > missing || s.worst > worst) {
		t.Errorf("want at least %.2f %% optimal, at most %.2f %% and %d missing", 100*optimal, 100*missing, worst)
	}
}

func TestHowFarCrossingAntiAffinityIsFromTheBest(t *testing.T) {
	var got shortfall
	overSmallStates(t, func(r enginetest.Random, b *enginetest.PlacementBuilder) {
		b.Apart(clusterv1beta1.TopologyKeyTypeLabel, "a").Apart(clusterv1beta1.TopologyKeyTypeLabel, "b")
		if r.Chance(40) {
			b.Apart(clusterv1beta1.TopologyKeyTypeClaim, "c")
		}
	}, func(at string, s smallFleet) {
		if !s.fits(s.made()) {
			t.Errorf("%s: %v does not keep the terms", at, sorted(s.chosen))
		}
		got.add(s.best().size, s.worth(s.made()).size)
	})
	got.check(t, 0.77, 0.10, 3)
}

func TestHowFarAntiAffinityAcrossHardSpreadIsFromTheBest(t *testing.T) {
	var got shortfall
	overSmallStates(t, func(r enginetest.Random, b *enginetest.PlacementBuilder) {
		b.Apart(clusterv1beta1.TopologyKeyTypeClaim, "c").Even(clusterv1beta1.TopologyKeyTypeLabel, "a", int32(1+r.IntN(2)), true)
		if r.Chance(40) {
			b.Even(clusterv1beta1.TopologyKeyTypeLabel, "b", 1, true)
		}
	}, func(at string, s smallFleet) {
		if !s.fits(s.made()) {
			t.Errorf("%s: %v does not keep the terms", at, sorted(s.chosen))
		}
		got.add(s.best().size, s.worth(s.made()).size)
	})
	got.check(t, 0.83, 0.07, 4)
}
