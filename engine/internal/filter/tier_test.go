package filter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
)

// tierOutcome is the result of the tiers for every cluster, by name. A cluster whose tier depends on whether it is
// selected has both tiers, the tier of an incumbent first.
type tierOutcome struct {
	Tiers                  map[string]string
	Rejected, RetainedOnly []string
	Held                   map[string]string
	FailsEverywhere        string
}

// tierCase is a placement with tiers on a fleet of four: a and b in eu, c in us, d with no label at all and the score load.
type tierCase struct {
	predicates []clusterv1beta1.ClusterSelector
	tiers      []clusterv1beta1.ClusterSelector
	// incumbents are selected. The clusters of held are selected too, and their set cannot be read.
	incumbents, held []string
	// leave is the part of the cost limit that the predicates leave; nil for nearly all.
	leave *uint64
}

func (c tierCase) state() *enginetest.State {
	p := placement()
	for _, predicate := range c.predicates {
		p.Predicate(predicate)
	}
	placement := p.Obj()
	for i, selector := range c.tiers {
		placement.Spec.Tiers = append(placement.Spec.Tiers, clusterv1beta1.ClusterTier{Name: fmt.Sprint("t", i), ClusterSelector: selector})
	}
	return enginetest.NewState(placement,
		enginetest.Cluster("a").Label("region", "eu").Label("much", "yes").Claim("gpu", "a b").Obj(),
		enginetest.Cluster("b").Label("region", "eu").Obj(),
		enginetest.Cluster("c").Label("region", "us").Obj(), enginetest.Cluster("d").Obj(),
		enginetest.Score("d", "load").Value("cpu", 1).ValidUntil(enginetest.Epoch.Add(time.Hour)).Obj())
}

func (c tierCase) run(t *testing.T) (tierOutcome, filter.PredicateResult) {
	t.Helper()
	w := c.state()
	s, p := w.Snapshot(), enginetest.Program(t, w)
	bits := func(names []string) *bitset.BitSet {
		out := &bitset.BitSet{}
		for _, name := range names {
			id, _ := s.ID(name)
			out.Set(id)
		}
		return out
	}
	held := bits(c.held)
	matched := filter.Predicates(p, s.ClustersWith(fleet.TermExists).BitSet().Difference(held),
		filter.MissingHold{Snapshot: s, Incumbents: bits(slices.Concat(c.incumbents, c.held))})
	if c.leave != nil {
		matched.LimitCost(*c.leave)
	}
	in := matched.In.Union(held)
	before := in.Clone()
	result := filter.Tiers(p, &matched, in, held)
	named := func(in *bitset.BitSet) []string {
		var out []string
		for id := range in.EachSet() {
			out = append(out, s.Name(id))
		}
		return out
	}
	out := tierOutcome{
		Tiers: map[string]string{}, Rejected: named(result.Rejected), RetainedOnly: named(result.RetainedOnly),
		Held: map[string]string{}, FailsEverywhere: result.FailsEverywhere,
	}
	for id := range before.EachSet() {
		out.Tiers[s.Name(id)] = inTier(result.TierOf(id, true))(result.TierOf(id, false))
	}
	for id, problem := range result.Held {
		out.Held[s.Name(id)] = problem
	}
	if diff := cmp.Diff(named(before.Difference(result.Rejected)), named(result.In)); diff != "" {
		t.Errorf("clusters in a tier (-want +got):\n%s", diff)
	}
	return out, matched
}

func inTier(tier int, in bool) func(int, bool) string {
	word := func(tier int, in bool) string {
		if !in {
			return "none"
		}
		return fmt.Sprint(tier)
	}
	return func(other int, alsoIn bool) string {
		if word(tier, in) == word(other, alsoIn) {
			return word(tier, in)
		}
		return word(tier, in) + " or " + word(other, alsoIn)
	}
}

func region(of string) clusterv1beta1.ClusterSelector {
	return clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", of)}
}

func byCEL(expressions ...string) clusterv1beta1.ClusterSelector {
	return clusterv1beta1.ClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: expressions}}
}

func byName(names ...string) clusterv1beta1.ClusterSelector {
	return clusterv1beta1.ClusterSelector{ClusterNames: names}
}

const tooCostly = "the evaluation ran over its cost limit"

func TestTiers(t *testing.T) {
	every := clusterv1beta1.ClusterSelector{}
	claimed := clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"gpu": "a b"}}}
	list := func(selectors ...clusterv1beta1.ClusterSelector) []clusterv1beta1.ClusterSelector { return selectors }
	of := func(a, b, c, d string) map[string]string { return map[string]string{"a": a, "b": b, "c": c, "d": d} }
	noneHeld := map[string]string{}
	for name, tc := range map[string]struct {
		stage tierCase
		want  tierOutcome
	}{
		"without tiers every cluster is in tier 0": {tierCase{}, tierOutcome{Tiers: of("0", "0", "0", "0"), Held: noneHeld}},
		"every cluster is in the first tier that matches": {
			tierCase{tiers: list(region("us"), region("eu"), every)}, tierOutcome{Tiers: of("1", "1", "0", "2"), Held: noneHeld},
		},
		"a cluster in no tier is rejected": {
			tierCase{tiers: list(region("us"), byName("a", "missing"))},
			tierOutcome{Tiers: of("1", "none", "0", "none"), Rejected: []string{"b", "d"}, Held: noneHeld},
		},
		"a claim by its value": {tierCase{tiers: list(claimed, every)}, tierOutcome{Tiers: of("0", "1", "1", "1"), Held: noneHeld}},
		"a cluster that the predicates rejected stays rejected": {
			tierCase{predicates: list(region("eu")), tiers: list(region("us"), every)},
			tierOutcome{Tiers: map[string]string{"a": "1", "b": "1"}, Held: noneHeld},
		},
		"an expression that fails on some does not match them": {
			tierCase{tiers: list(byCEL(`managedCluster.metadata.labels.region == "eu"`), every)},
			tierOutcome{Tiers: of("0", "0", "1", "1"), Held: noneHeld},
		},
		"an expression that fails on all it ran on fails everywhere, and its tier is named": {
			tierCase{tiers: list(region("eu"), byCEL(`true`, `managedCluster.metadata.labels.misspelt == "x"`), every)},
			tierOutcome{
				Tiers: of("0", "0", "2", "2"), Held: noneHeld,
				FailsEverywhere: "tiers[1].celExpressions[1]: no such key: misspelt on every one of 2 clusters",
			},
		},
		"an expression is run only on clusters in no earlier tier": {
			tierCase{tiers: list(byName("a", "b", "c"), byCEL(`managedCluster.metadata.labels.region == "eu"`), every)},
			tierOutcome{
				Tiers: of("0", "0", "0", "2"), Held: noneHeld,
				FailsEverywhere: "tiers[1].celExpressions[0]: no such key: labels on every one of 1 clusters",
			},
		},
		"a newcomer on which an expression is too costly is in the next tier": {
			tierCase{tiers: list(byCEL(costly), every)}, tierOutcome{Tiers: of("0 or 1", "0", "0", "1"), Held: noneHeld},
		},
		"an incumbent on which an expression is too costly is in its tier, and not retained only": {
			tierCase{tiers: list(byCEL(costly), every), incumbents: []string{"a", "b"}},
			tierOutcome{Tiers: of("0 or 1", "0", "0", "1"), Held: map[string]string{"a": tooCostly}},
		},
		"an incumbent that is in no tier as a newcomer is retained only": {
			tierCase{tiers: list(byName("d"), byCEL(costly)), incumbents: []string{"a"}},
			tierOutcome{Tiers: of("1 or none", "1", "1", "0"), Held: map[string]string{"a": tooCostly}, RetainedOnly: []string{"a"}},
		},
		"a newcomer that is in no other tier is rejected": {
			tierCase{tiers: list(byCEL(costly), byName("d"))}, tierOutcome{
				Tiers: of("0 or none", "0", "0", "1"), Rejected: []string{"a"},
				Held: noneHeld,
			},
		},
		"of two tiers that are too costly, the first counts": {
			tierCase{tiers: list(region("us"), byCEL(costly), byCEL(costly), every), incumbents: []string{"a"}},
			tierOutcome{Tiers: of("1 or 3", "1", "0", "3"), Held: map[string]string{"a": tooCostly}},
		},
		"a cluster held by its set is in the tier that matches": {
			tierCase{predicates: list(region("eu")), tiers: list(region("us"), every), held: []string{"c"}},
			tierOutcome{Tiers: map[string]string{"a": "1", "b": "1", "c": "0"}, Held: noneHeld},
		},
		"a cluster held by its set and in no tier is after the last": {
			tierCase{tiers: list(region("us"), region("eu")), held: []string{"d"}}, tierOutcome{Tiers: of("1", "1", "0", "2"), Held: noneHeld},
		},
		"a cluster held by its set counts among those that an expression ran on": {
			tierCase{
				predicates: list(byName("a")), tiers: list(byCEL(`managedCluster.metadata.labels.misspelt == "x"`), every),
				held: []string{"c"},
			},
			tierOutcome{
				Tiers: map[string]string{"a": "1", "c": "1"}, Held: noneHeld,
				FailsEverywhere: "tiers[0].celExpressions[0]: no such key: misspelt on every one of 2 clusters",
			},
		},
		"the tiers have the cost limit that the predicates left": {
			tierCase{tiers: list(byCEL(`managedCluster.metadata.name < "c"`), every), incumbents: []string{"c"}, leave: new(uint64(100))},
			tierOutcome{
				Tiers: of("0", "0", "0", "0"), Held: noneHeld,
				FailsEverywhere: "tiers[0].celExpressions[0]: the expressions of a placement may cost 100 units in one decision, and these had cost " +
					"166 after 2 of 4 clusters: " +
					"select by labels, claims or names instead, make them simpler, or divide the placement. " +
					"The decisions stay as they are, and it is tried again once something that the placement reads changes",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := tc.stage.run(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASelectedClusterChangesNoOtherTier(t *testing.T) {
	tiers := []clusterv1beta1.ClusterSelector{
		byCEL(costly), byCEL(costly, `managedCluster.metadata.name != "b"`),
		byCEL(`managedCluster.metadata.name < "d"`),
	}
	want, _ := tierCase{tiers: tiers}.run(t)
	for _, incumbents := range [][]string{{"a"}, {"a", "b", "c", "d"}} {
		got, _ := tierCase{tiers: tiers, incumbents: incumbents}.run(t)
		if diff := cmp.Diff(want.Tiers, got.Tiers); diff != "" {
			t.Errorf("tiers where %v are selected (-without +with):\n%s", incumbents, diff)
		}
	}
}
