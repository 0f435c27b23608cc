package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// expensiveExpression takes the whole cost limit of one evaluation, except on clusters whose names begin with z.
const expensiveExpression = `managedCluster.metadata.name.startsWith("z") || "%.99999999f".format([1.5]) == ""`

// TestAPlacementOverItsCostLimitKeepsItsDecisions compares engine and oracle with expressions above the cost limit of a
// placement: in predicates, tiers, groups and all of them, with a cold and a warm cache.
func TestAPlacementOverItsCostLimitKeepsItsDecisions(t *testing.T) {
	within, beyond := celenv.PlacementCost/celenv.ExpressionCost-1, celenv.PlacementCost/celenv.ExpressionCost+5
	tiered := func(texts ...string) func(*clusterv1beta1.Placement) {
		return func(p *clusterv1beta1.Placement) {
			for i, text := range texts {
				p.Spec.Tiers = append(p.Spec.Tiers, clusterv1beta1.ClusterTier{Name: fmt.Sprint("tier", i), ClusterSelector: byCEL(text)})
			}
		}
	}
	for name, tc := range map[string]struct {
		clusters   int
		predicates []string
		change     func(*clusterv1beta1.Placement)
		exceeded   string
	}{
		"as much as it may": {clusters: within, predicates: []string{expensiveExpression}},
		"one predicate": {
			clusters: beyond, predicates: []string{expensiveExpression},
			exceeded: "Predicate:predicates[0].celExpressions[0]: ",
		},
		"two predicates, half of it each": {
			clusters: beyond/2 + 1, predicates: []string{expensiveExpression, expensiveExpression},
			exceeded: "Predicate:predicates[1].celExpressions[0]: ",
		},
		"tiers": {
			clusters: beyond, change: tiered(expensiveExpression, `true`),
			exceeded: "Tiers:tiers[0].celExpressions[0]: ",
		},
		"what predicates leave, for tiers": {
			clusters: beyond/2 + 1, predicates: []string{`true`, expensiveExpression},
			change: tiered(expensiveExpression, `true`), exceeded: "Tiers:tiers[0].celExpressions[0]: ",
		},
		"groups": {clusters: beyond, exceeded: "DecisionGroup:decisionGroups[0].celExpressions[0]: ", change: func(p *clusterv1beta1.Placement) {
			p.Spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{
				{GroupName: "costly", ClusterSelector: clusterv1beta1.GroupClusterSelector{
					CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{expensiveExpression}},
				}},
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := enginetest.Placement("ns", "p")
			for _, text := range tc.predicates {
				p.CEL(text)
			}
			w := state(p, append(numbered("a", tc.clusters), enginetest.Cluster("z"))...)
			key := fleet.Key{Namespace: "ns", Name: "p"}
			if tc.change != nil {
				tc.change(w.Placements[key])
			}
			w.Add(enginetest.Slice("ns", "p", 1, "a001", "a002", "z").Obj())
			oracle, err := enginetest.NewOracle()
			if err != nil {
				t.Fatal(err)
			}
			want := oracle.Decide(w, key)
			if got := want.Misconfigured.Message; !strings.HasPrefix(got, tc.exceeded) || want.Decided != (tc.exceeded == "") {
				t.Fatalf("decided %v, %q, want %q", want.Decided, got, tc.exceeded)
			}
			env := enginetest.Env(t)
			for _, cache := range []string{"cold", "warm"} {
				if diff := cmp.Diff(want, enginetest.EngineOutcome(w, w.Snapshot(), key, env)); diff != "" {
					t.Errorf("with a %s cache (-oracle +engine):\n%s", cache, diff)
				}
			}
		})
	}
}

// TestAPlacementOverItsCostLimitIsNotEvaluatedAgain changes the fleet of a placement above its limit. It is evaluated again only
// when something that it reads has changed.
func TestAPlacementOverItsCostLimitIsNotEvaluatedAgain(t *testing.T) {
	const clusters = celenv.PlacementCost/celenv.ExpressionCost + 5
	placement := func(extra string) *enginetest.PlacementBuilder {
		return enginetest.Placement("ns", "p").CEL(expensiveExpression + extra)
	}
	reads := placement(` || managedCluster.scores("load").size() > 5 || has(managedCluster.spec.taints)`)
	score := func(value int32) *clusterv1alpha1.AddOnPlacementScore {
		return enginetest.Score("a001", "load").Value("cpu", value).Obj()
	}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		change    func(live *enginetest.Live)
		again     bool
	}{
		"nothing changes": {placement(""), func(*enginetest.Live) {}, false},
		"a taint, that it reads not": {placement(""), func(live *enginetest.Live) {
			live.SetCluster(enginetest.Cluster("a001").In("all").Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj())
		}, false},
		"a taint, that it reads": {reads, func(live *enginetest.Live) {
			live.SetCluster(enginetest.Cluster("a001").In("all").Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj())
		}, true},
		"a label": {placement(""), func(live *enginetest.Live) {
			live.SetCluster(enginetest.Cluster("a001").In("all").Label("x", "y").Obj())
		}, true},
		"a cluster":              {placement(""), func(live *enginetest.Live) { live.SetCluster(enginetest.Cluster("b").In("all").Obj()) }, true},
		"a score, that it reads": {reads, func(live *enginetest.Live) { live.SetScore(score(2)) }, true},
		"another score": {
			reads, func(live *enginetest.Live) { live.SetScore(enginetest.Score("a001", "other").Value("cpu", 1).Obj()) },
			false,
		},
		"the name of a score is computed": {
			placement(` || managedCluster.scores(managedCluster.metadata.name).size() > 5`), func(*enginetest.Live) {}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := state(tc.placement, numbered("a", clusters)...).Add(score(1))
			live, compiled := enginetest.NewLive(w, enginetest.Env(t)), enginetest.Program(t, w)
			if before := engine.Schedule(live.Snapshot, compiled, ledger.Ledger{}); before.Decided {
				t.Fatal("it decided, and was to exceed its limit")
			}
			tc.change(live)
			none := live.Snapshot.EmptySet()
			all := live.Snapshot.ClustersWith(fleet.TermExists).BitSet()
			_, _, known := compiled.LastOverrun(program.EvaluationInput{Snapshot: live.Snapshot, Scope: all, Incumbents: none, Held: none})
			if known == tc.again {
				t.Errorf("it is evaluated again: %v, want %v", !known, tc.again)
			}
			if after := engine.Schedule(live.Snapshot, compiled, ledger.Ledger{}); after.Decided {
				t.Error("it decided, and exceeds its limit still")
			}
		})
	}
}

func byCEL(text string) clusterv1beta1.ClusterSelector {
	return clusterv1beta1.ClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{text}}}
}
