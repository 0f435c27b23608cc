package enginetest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/verdict"
)

// forEachFullDecision decides every placement of n full states.
func forEachFullDecision(t *testing.T, n int, check func(t *testing.T, rig harness, at string, c decided)) {
	t.Helper()
	t.Parallel()
	overSeeds(t, n, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed + 3<<32).FullState(2)
		s := w.Snapshot()
		for _, key := range w.Keys() {
			check(t, rig, at+" "+key.String(), decided{w, s, key, enginetest.DecidePlacement(s, w.Placements[key], rig.env)})
		}
	})
}

// choice is a decision with the spec and the candidates.
type choice struct {
	decided

	spec     clusterv1beta1.PlacementSpec
	chosen   map[string]bool
	before   map[string]bool
	verdicts map[string]verdict.Verdict
	standing map[string]enginetest.CandidateState
}

// choice adds the spec and the candidates to a decision.
func (d decided) choice(rig harness) choice {
	out := choice{
		decided: d, spec: d.state.Placements[d.key].Spec, chosen: set(d.result.Clusters()), before: union(d.state, d.key),
		verdicts: map[string]verdict.Verdict{}, standing: map[string]enginetest.CandidateState{},
	}
	for id, cluster := range d.snapshot.Clusters() {
		out.verdicts[cluster.Name()] = d.result.Trace.Verdict(id)
	}
	if d.result.Decided {
		out.standing = rig.oracle.Candidates(d.state, d.key)
	}
	return out
}

// held reports whether the budget holds any cluster.
func (c choice) held() bool { return slices.ContainsFunc(sorted(c.chosen), c.isHeld) }

func (c choice) isHeld(name string) bool {
	hold, ok := c.verdicts[name].Argument.(verdict.Hold)
	return ok && hold.Underlying != 0
}

// waits reports whether any cluster waits to displace another.
func (c choice) waits() bool {
	return slices.ContainsFunc(sorted(c.verdicts), func(name string) bool { return c.verdicts[name].Code == verdict.Waiting })
}

// open are the candidates that are not chosen, by name, without those that qualify only as incumbents.
func (c choice) open() []string {
	return slices.DeleteFunc(sorted(c.standing), func(name string) bool {
		standing := c.standing[name]
		return c.chosen[name] || !standing.Eligible || standing.RetainedOnly
	})
}

// domain returns the domains of a cluster for the first n constraints.
func (c choice) domain(name string, n int) string {
	var path []string
	for _, constraint := range c.constraints()[:n] {
		value, has := enginetest.Domain(c.state.Clusters[name], constraint.TopologyKeyType, constraint.TopologyKey)
		if has {
			value = "=" + value
		}
		path = append(path, value)
	}
	return strings.Join(path, "\x00")
}

// constraints returns the effective constraints: soft ones need a number of clusters.
func (c choice) constraints() []clusterv1beta1.SpreadConstraintsTerm {
	return slices.DeleteFunc(slices.Clone(c.spec.SpreadPolicy.SpreadConstraints), func(of clusterv1beta1.SpreadConstraintsTerm) bool {
		return of.WhenUnsatisfiable != clusterv1beta1.DoNotSchedule && c.spec.NumberOfClusters == nil
	})
}

// excess returns by how much the domain of a cluster exceeds the skew of the i-th constraint, and the emptiest domains beside
// it.
func (c choice) excess(name string, i int) (by int, emptiest []string) {
	count := map[string]int{}
	for _, other := range slices.Concat(c.open(), sorted(c.chosen)) {
		if c.domain(other, i) != c.domain(name, i) {
			continue
		}
		domain := c.domain(other, i+1)
		if c.chosen[other] {
			count[domain]++
		} else {
			count[domain] += 0
		}
	}
	least := count[c.domain(name, i+1)]
	for _, n := range count {
		least = min(least, n)
	}
	for _, domain := range sorted(count) {
		if count[domain] == least {
			emptiest = append(emptiest, domain)
		}
	}
	return count[c.domain(name, i+1)] - least - max(1, int(c.constraints()[i].MaxSkew)), emptiest
}

func sorted[V any](of map[string]V) []string {
	out := make([]string, 0, len(of))
	for name := range of {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestADomainExceedsAHardMaxSkewOnlyWithAsManyClustersAsItHad(t *testing.T) {
	forEachFullDecision(t, properties/2, func(t *testing.T, rig harness, at string, c decided) {
		choice := c.choice(rig)
		if choice.held() || !c.result.Decided {
			return
		}
		for i, constraint := range choice.constraints() {
			for _, name := range sorted(choice.chosen) {
				by, _ := choice.excess(name, i)
				had, has := choice.countIn(choice.before, name, i), choice.countIn(choice.chosen, name, i)
				if by > 0 && has > had && isHard(constraint) {
					t.Errorf("%s: the domain of %s exceeds maxSkew of constraint %d by %d, with %d clusters after %d", at, name, i, by, has, had)
				}
			}
		}
	})
}

// countIn counts the candidates among some clusters that are in the domain of a cluster for the i-th constraint.
func (c choice) countIn(clusters map[string]bool, name string, i int) int {
	count := 0
	for other := range clusters {
		if c.standing[other].Eligible && c.domain(other, i+1) == c.domain(name, i+1) {
			count++
		}
	}
	return count
}

func TestASoftMaxSkewIsExceededOnlyWhereNoClusterOfTheSameStandingWouldLowerIt(t *testing.T) {
	forEachFullDecision(t, properties/2, func(t *testing.T, rig harness, at string, c decided) {
		choice := c.choice(rig)
		if choice.held() || choice.waits() || len(choice.spec.SpreadPolicy.AntiAffinity) > 0 ||
			slices.ContainsFunc(choice.constraints(), isHard) {
			return
		}
		for i := range choice.constraints() {
			for _, name := range sorted(choice.chosen) {
				by, emptiest := choice.excess(name, i)
				for _, other := range choice.open() {
					a, b := choice.standing[name], choice.standing[other]
					if by > 0 && slices.Contains(emptiest, choice.domain(other, i+1)) && a.Tier == b.Tier && a.Penalized == b.Penalized {
						t.Errorf("%s: %s in place of %s would lower the excess of constraint %d from %d", at, other, name, i, by)
					}
				}
			}
		}
	})
}

func TestNoTwoSelectedClustersShareADomainOfATermUnlessOneIsHeld(t *testing.T) {
	forEachFullDecision(t, properties/2, func(t *testing.T, rig harness, at string, c decided) {
		choice := c.choice(rig)
		if !c.result.Decided {
			return
		}
		for _, term := range choice.spec.SpreadPolicy.AntiAffinity {
			taken := map[string]string{}
			for _, name := range sorted(choice.chosen) {
				value, has := enginetest.Domain(c.state.Clusters[name], term.TopologyKeyType, term.TopologyKey)
				if choice.isHeld(name) {
					continue
				}
				if other, shared := taken[value]; shared || !has {
					t.Errorf("%s: %s (has %s: %v) and %s share %q", at, name, term.TopologyKey, has, other, value)
				}
				taken[value] = name
			}
		}
	})
}

func TestNoClusterOfALaterTierIsNewlyChosenWhileOneOfAnEarlierTierIsLeftOutForNoReason(t *testing.T) {
	forEachFullDecision(t, properties/2, func(t *testing.T, rig harness, at string, c decided) {
		choice := c.choice(rig)
		if slices.ContainsFunc(choice.constraints(), isHard) {
			return // a term that blocked a pick may not block at the end
		}
		for _, fresh := range sorted(choice.chosen) {
			for _, left := range choice.open() {
				if choice.before[fresh] || choice.before[left] || choice.standing[left].Tier >= choice.standing[fresh].Tier {
					continue
				}
				if found := choice.verdicts[left]; found.Code != verdict.Waiting && !blockedByAntiAffinity(found) {
					t.Errorf("%s: %s of tier %d is new and %s of tier %d is left out: %v", at, fresh, choice.standing[fresh].Tier,
						left, choice.standing[left].Tier, found)
				}
			}
		}
	})
}

func isHard(of clusterv1beta1.SpreadConstraintsTerm) bool {
	return of.WhenUnsatisfiable == clusterv1beta1.DoNotSchedule
}

// blockedByAntiAffinity reports whether anti-affinity blocks a cluster.
func blockedByAntiAffinity(of verdict.Verdict) bool {
	capped, ok := of.Argument.(verdict.Constraint)
	return ok && !capped.Term.Spread
}

func TestNeverMoreClustersThanWantedAreSelectedWithHeldOnes(t *testing.T) {
	forEachFullDecision(t, properties/2, func(t *testing.T, _ harness, at string, c decided) {
		wanted := c.state.Placements[c.key].Spec.NumberOfClusters
		if c.result.Decided && wanted != nil && c.result.Selected > int(*wanted) {
			t.Errorf("%s: selected %d, want at most %d", at, c.result.Selected, *wanted)
		}
		if got := c.result.Clusters(); len(got) != c.result.Selected || len(set(got)) != len(got) {
			t.Errorf("%s: %d entries and %d clusters in the slices, want %d of both", at, len(got), len(set(got)), c.result.Selected)
		}
	})
}

func TestDecidingAgainUntilThePlacementLooksAgainWritesNothing(t *testing.T) {
	forEachFullDecision(t, properties/2, func(t *testing.T, rig harness, at string, c decided) {
		if !c.result.Decided && strings.HasPrefix(c.result.Misconfigured.Message, "DecisionGroup:") {
			return // the message counts the clusters that would be selected
		}
		after := c.state.Copy()
		first := c.plan()
		for _, write := range first.Writes {
			after.Apply(write)
		}
		if strings.HasPrefix(c.result.Misconfigured.Message, "ManagedClusterSet:") { // what has left is no candidate of an invalid set any more
			again := enginetest.DecidePlacement(after.Snapshot(), after.Placements[c.key], rig.env)
			for _, write := range plan.Diff(again, after.Stored(c.key), after.Now).Writes {
				after.Apply(write)
			}
		}
		for _, later := range []time.Duration{0, time.Second, time.Minute} {
			after.Now = c.state.Now.Add(later)
			if due(c.result.RecheckAt, after.Now) || due(first.RecheckAt, after.Now) {
				return
			}
			again := enginetest.DecidePlacement(after.Snapshot(), after.Placements[c.key], rig.env)
			for _, write := range plan.Diff(again, after.Stored(c.key), after.Now).Writes {
				t.Errorf("%s: %v later still to %s: %s", at, later, write.Verb, cmp.Diff(after.Placements[c.key], write.Placement))
			}
		}
	})
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

func TestAPlacementWithoutTheNewerPartsIgnoresItsStoredStatus(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, rig harness, at string, c decided) {
		random := enginetest.NewRandom(uint64(len(at)))
		other := c.state.Copy()
		other.Add(random.WithStatus(other, c.key))
		again := enginetest.DecidePlacement(c.snapshot, other.Placements[c.key], rig.env)
		want, got := enginetest.OutcomeOf(c.result), enginetest.OutcomeAfter(other, again)
		if c.result.Decided && (got.Status.Disruption != nil || got.Status.Failback != nil) {
			t.Errorf("%s: the status has %v and %v, want nothing", at, got.Status.Disruption, got.Status.Failback)
		}
		got.Slices, got.Status = nil, nil
		if want.Misconfigured.Reason == clusterv1beta1.ReasonUnknownReference { // the edit was judged before
			want.Misconfigured, got.Misconfigured = engine.Condition{}, engine.Condition{}
		}
		same(t, at, want, got)
	})
}
