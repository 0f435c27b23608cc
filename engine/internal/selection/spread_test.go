package selection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/verdict"
)

// shape changes the spec of a placement.
type shape func(*clusterv1beta1.PlacementSpec)

func wanted(n int32) shape {
	return func(s *clusterv1beta1.PlacementSpec) { s.NumberOfClusters = &n }
}

// spreadOver adds spread constraints over labels, each the next level. A key with ! is a hard constraint, a key with @ a claim.
func spreadOver(maxSkew int32, keys ...string) shape {
	return func(s *clusterv1beta1.PlacementSpec) {
		for _, key := range keys {
			term := clusterv1beta1.SpreadConstraintsTerm{TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel, MaxSkew: maxSkew}
			if rest, hard := strings.CutPrefix(key, "!"); hard {
				key, term.WhenUnsatisfiable = rest, clusterv1beta1.DoNotSchedule
			}
			if rest, claim := strings.CutPrefix(key, "@"); claim {
				key, term.TopologyKeyType = rest, clusterv1beta1.TopologyKeyTypeClaim
			}
			term.TopologyKey = key
			s.SpreadPolicy.SpreadConstraints = append(s.SpreadPolicy.SpreadConstraints, term)
		}
	}
}

func antiAffinity(keys ...string) shape {
	return func(s *clusterv1beta1.PlacementSpec) {
		for _, key := range keys {
			s.SpreadPolicy.AntiAffinity = append(s.SpreadPolicy.AntiAffinity, clusterv1beta1.AntiAffinityTerm{
				TopologyKey: key, TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel,
			})
		}
	}
}

// tiers adds a tier for each value of the label tier, in this order.
func tiers(names ...string) shape {
	return func(s *clusterv1beta1.PlacementSpec) {
		for _, name := range names {
			s.Tiers = append(s.Tiers, clusterv1beta1.ClusterTier{
				Name: name, ClusterSelector: clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("tier", name)},
			})
		}
	}
}

func prefer(builtIn string, weight int32) shape {
	return func(s *clusterv1beta1.PlacementSpec) {
		s.PrioritizerPolicy.Configurations = append(s.PrioritizerPolicy.Configurations, clusterv1beta1.PrioritizerConfig{
			Weight:          &weight,
			ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: builtIn},
		})
	}
}

func exact(s *clusterv1beta1.PlacementSpec) {
	s.PrioritizerPolicy.Mode = clusterv1beta1.PrioritizerPolicyModeExact
}

func byCPU(weight int32) shape {
	return prefer(clusterv1beta1.PrioritizerResourceAllocatableCPU, weight)
}

// parse reads a cluster a line, such as "a region=eu zone=1 cpu=4". A key with @ is a claim. old is a PreferNoSelect taint, new
// a NoSelectIfNew taint, bad a NoSelect taint.
func parse(text string) []*clusterv1.ManagedCluster {
	var out []*clusterv1.ManagedCluster
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		c := enginetest.Cluster(words[0]).In("all")
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			claim, isClaim := strings.CutPrefix(key, "@")
			switch {
			case word == "old":
				c.Taint("old", clusterv1.TaintEffectPreferNoSelect, enginetest.Epoch)
			case word == "new":
				c.Taint("new", clusterv1.TaintEffectNoSelectIfNew, enginetest.Epoch)
			case word == "bad":
				c.Taint("bad", clusterv1.TaintEffectNoSelect, enginetest.Epoch)
			case key == "cpu":
				c.CPU(value)
			case isClaim:
				c.Claim(claim, value)
			default:
				c.Label(key, value)
			}
		}
		out = append(out, c.Obj())
	}
	return out
}

// fleetWith is a state of the placement ns/web, with clusters and incumbents.
func fleetWith(clusters string, incumbents []string, shapes ...shape) *enginetest.State {
	p := enginetest.Placement("ns", "p").Obj()
	for _, shape := range shapes {
		shape(&p.Spec)
	}
	w := enginetest.NewState(p, enginetest.Set("all").Obj()).Bind("ns", "all")
	for _, cluster := range parse(clusters) {
		w.Add(cluster)
	}
	if len(incumbents) > 0 {
		w.Add(enginetest.Slice("ns", "p", 1, incumbents...).Obj())
	}
	return w
}

// decide decides the placement of a state.
func decide(t *testing.T, w *enginetest.State) *engine.Result {
	t.Helper()
	p := enginetest.Program(t, w)
	return engine.Schedule(w.Snapshot(), p, plan.ReadLedger(w.Placements[p.Key]))
}

const regions = `
	e1 region=eu zone=1
	e2 region=eu zone=1
	e3 region=eu zone=2
	e4 region=eu zone=2
	u1 region=us zone=1
	u2 region=us zone=1`

func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		clusters  string
		shapes    []shape
		incumbent string
		want      string
	}{
		"without a constraint names decide":         {regions, []shape{wanted(2)}, "", "e1 e2"},
		"the emptiest domain goes first":            {regions, []shape{wanted(2), spreadOver(1, "region")}, "", "e1 u1"},
		"rounds go on while there is room":          {regions, []shape{wanted(4), spreadOver(1, "region")}, "", "e1 e2 u1 u2"},
		"soft constraints are exceeded for a place": {regions, []shape{wanted(5), spreadOver(1, "region")}, "", "e1 e2 e3 u1 u2"},
		"hard ones are not":                         {regions, []shape{wanted(6), spreadOver(1, "!region")}, "", "e1 e2 e3 u1 u2"},
		"hard ones choose without a number too":     {regions, []shape{spreadOver(1, "!region")}, "", "e1 e2 e3 u1 u2"},
		"soft ones need a number":                   {regions, []shape{spreadOver(1, "region")}, "", "e1 e2 e3 e4 u1 u2"},
		"maxSkew is how much fuller one may be":     {regions, []shape{spreadOver(2, "!region")}, "", "e1 e2 e3 e4 u1 u2"},
		"zones are balanced within regions": {
			"e1 region=eu zone=1\ne2 region=eu zone=1\ne3 region=eu zone=2\nu1 region=us zone=1\nu2 region=us zone=2",
			[]shape{wanted(4), spreadOver(1, "region", "zone")},
			"", "e1 e3 u1 u2",
		},
		"a zone of the same name in another region is another": {
			"a region=eu zone=1\nb region=us zone=1\nc region=us zone=2",
			[]shape{wanted(2), spreadOver(1, "region", "zone")},
			"", "a b",
		},
		"of two constraints the first counts more": {
			"a region=eu zone=1\nb region=us zone=1\nc region=eu zone=2\nd region=eu zone=3",
			[]shape{wanted(2), spreadOver(1, "region", "zone")},
			"", "a b",
		},
		"claims divide as labels do": {
			"a @region=eu\nb @region=eu\nc @region=us", []shape{wanted(2), spreadOver(1, "@region")}, "", "a c",
		},
		"clusters without the key are a domain of their own": {
			"a region=eu\nb region=eu\nc\nd\ne region=", []shape{wanted(3), spreadOver(1, "region")}, "", "a c e",
		},
		"clusters without the key of a hard constraint are not chosen": {
			"a region=eu\nb\nc region=us", []shape{spreadOver(1, "!region")}, "", "a c",
		},
		"only domains of those that passed the filters count": {
			"a region=eu\nb region=eu\nc region=us bad", []shape{spreadOver(1, "!region")}, "", "a b",
		},
		"an excess goes before every score": {
			"a region=eu cpu=9\nb region=eu cpu=8\nc region=us cpu=1", []shape{wanted(2), spreadOver(1, "region"), byCPU(10)}, "", "a c",
		},
		"within maxSkew a score may be worth more": {
			"a region=eu cpu=9\nb region=eu cpu=8\nc region=us cpu=1", []shape{wanted(2), spreadOver(2, "region"), byCPU(10)}, "", "a b",
		},
		"and the spread less or more by its weight": {
			"a region=eu cpu=9\nb region=eu cpu=8\nc region=us cpu=1",
			[]shape{wanted(2), spreadOver(2, "region"), byCPU(10), prefer(clusterv1beta1.PrioritizerSpread, 10)},
			"", "a b",
		},
		"with a weight that suffices": {
			"a region=eu cpu=9\nb region=eu cpu=8\nc region=us cpu=1",
			[]shape{wanted(2), spreadOver(2, "region"), byCPU(5), prefer(clusterv1beta1.PrioritizerSpread, 10)},
			"", "a c",
		},
		"in Exact mode the spread is no score unless listed": {
			"a region=eu cpu=9\nb region=eu cpu=8\nc region=us cpu=1", []shape{wanted(2), spreadOver(2, "region"), exact, byCPU(1)}, "", "a b",
		},
		"listed, it is": {
			"a region=eu cpu=9\nb region=eu cpu=8\nc region=us cpu=7",
			[]shape{wanted(2), spreadOver(2, "region"), exact, byCPU(1), prefer(clusterv1beta1.PrioritizerSpread, 2)},
			"", "a c",
		},
		"a tier goes before the spread": {
			"a region=eu tier=x\nb region=eu tier=x\nc region=us tier=y", []shape{wanted(2), spreadOver(1, "region"), tiers("x", "y")}, "", "a b",
		},
		"a hard constraint goes before the tier": {
			"a region=eu tier=x\nb region=eu tier=x\nc region=us tier=y", []shape{wanted(2), spreadOver(1, "!region"), tiers("x", "y")}, "", "a c",
		},
		"PreferNoSelect goes before the spread": {
			"a region=eu\nb region=eu\nc region=us old", []shape{wanted(2), spreadOver(1, "region")}, "", "a b",
		},
		"an incumbent stays where its domain has room": {regions, []shape{wanted(2), spreadOver(1, "region")}, "e4 u2", "e4 u2"},
		"one too many in a domain goes":                {regions, []shape{wanted(2), spreadOver(1, "region")}, "e3 e4", "e3 u1"},
		"no cluster is wanted":                         {regions, []shape{wanted(0), spreadOver(1, "region"), antiAffinity("zone")}, "", ""},
		"anti-affinity puts one in each domain":        {regions, []shape{antiAffinity("region")}, "", "e1 u1"},
		"and keeps its incumbents":                     {regions, []shape{antiAffinity("region")}, "e3 u2", "e3 u2"},
		"as many as are wanted":                        {regions, []shape{wanted(1), antiAffinity("region")}, "", "e1"},
		"anti-affinity over two topologies crosses":    {regions, []shape{antiAffinity("region", "zone")}, "", "e1"},
		"the empty value is a domain like any other":   {"a zone=\nb zone=\nc zone=1\nd", []shape{antiAffinity("zone")}, "", "a c"},
		"anti-affinity within a spread": {
			"a region=eu host=1\nb region=eu host=2\nc region=us host=1\nd region=us host=2",
			[]shape{wanted(2), spreadOver(1, "region"), antiAffinity("host")},
			"", "a d",
		},
		"a better one takes the place of an incumbent of its domain": {
			"a zone=1 cpu=1\nb zone=1 cpu=9\nc zone=2 cpu=5", []shape{antiAffinity("zone"), byCPU(10)}, "a c", "b c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := decide(t, fleetWith(tc.clusters, strings.Fields(tc.incumbent), tc.shapes...))
			if got := strings.Join(slices.Sorted(slices.Values(result.Clusters())), " "); got != tc.want {
				t.Errorf("chosen %q, want %q; %s", got, tc.want, result.Misconfigured.Message)
			}
		})
	}
}

// verdicts returns the verdict on each cluster that is not Selected.
func verdicts(result *engine.Result) map[string]string {
	out := map[string]string{}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		switch v := result.Trace.Verdict(id); argument := v.Argument.(type) {
		case verdict.Constraint:
			out[cluster.Name()] = fmt.Sprintf("%s: %s, domain %q, lacks %v, by %q", v.Code, argument.Term, argument.Domain, argument.Lacks,
				argument.TakenBy)
		case verdict.Wait:
			out[cluster.Name()] = fmt.Sprintf("%s until %s", v.Code, argument.Until.Sub(enginetest.Epoch))
		case verdict.Hold:
			out[cluster.Name()] = fmt.Sprintf("%s: %s, problem %q, until %s", v.Code, argument.Underlying, argument.Problem,
				argument.Until.Sub(enginetest.Epoch))
		default:
			if v.Code != verdict.Selected {
				out[cluster.Name()] = v.Code.String()
			}
		}
	}
	return out
}

func TestWhatKeepsAClusterOut(t *testing.T) {
	for name, tc := range map[string]struct {
		clusters string
		shapes   []shape
		want     map[string]string
		message  string
	}{
		"anti-affinity": {
			"a zone=1\nb zone=1\nc",
			[]shape{wanted(2), antiAffinity("zone")},
			map[string]string{
				"b": `Capped: anti-affinity over label zone, domain "1", lacks false, by "a"`,
				"c": `Capped: anti-affinity over label zone, domain "", lacks true, by ""`,
			},
			"1 cluster decisions unscheduled; anti-affinity over label zone keeps out 2 ManagedClusters",
		},
		"a hard constraint": {
			"a region=eu\nb region=eu\nc region=eu\nd region=us\ne",
			[]shape{wanted(5), spreadOver(1, "!region")},
			map[string]string{
				"c": `Capped: spread over label region, domain "eu", lacks false, by ""`,
				"e": `Capped: spread over label region, domain "", lacks true, by ""`,
			},
			"2 cluster decisions unscheduled; spread over label region keeps out 2 ManagedClusters",
		},
		"a soft constraint does, for a cluster that would otherwise have a place": {
			"a region=eu\nb region=eu\nc region=eu\nd region=us\ne region=eu",
			[]shape{wanted(3), spreadOver(1, "region")},
			map[string]string{"c": `Capped: spread over label region, domain "eu", lacks false, by ""`, "e": "Beaten"},
			"All cluster decisions scheduled",
		},
		"so does the lack of its key": {
			"a\nb\nc\nd region=us",
			[]shape{wanted(3), spreadOver(1, "region")},
			map[string]string{"c": `Capped: spread over label region, domain "", lacks true, by ""`},
			"All cluster decisions scheduled",
		},
		"each counts once, for the first term that blocks it": {
			"a zone=1 region=eu\nb zone=1 region=eu\nc zone=2 region=eu",
			[]shape{wanted(5), spreadOver(1, "!region"), antiAffinity("zone")},
			map[string]string{"b": `Capped: anti-affinity over label zone, domain "1", lacks false, by "a"`},
			"3 cluster decisions unscheduled; anti-affinity over label zone keeps out 1 ManagedClusters",
		},
		"all clusters": {
			"a\nb",
			[]shape{wanted(2), antiAffinity("zone")},
			map[string]string{
				"a": `Capped: anti-affinity over label zone, domain "", lacks true, by ""`,
				"b": `Capped: anti-affinity over label zone, domain "", lacks true, by ""`,
			},
			"No ManagedCluster can be selected; anti-affinity over label zone keeps out 2 ManagedClusters",
		},
		"no tier": {
			"a tier=x\nb tier=z", []shape{tiers("x", "y")}, map[string]string{"b": "OutsideTiers"}, "All cluster decisions scheduled",
		},
		"no tier has a cluster": {
			"b tier=z",
			[]shape{tiers("x", "y")},
			map[string]string{"b": "OutsideTiers"},
			"No ManagedCluster that matches the cluster predicates is in any of the tiers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := decide(t, fleetWith(tc.clusters, nil, tc.shapes...))
			if diff := cmp.Diff(tc.want, verdicts(result)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if result.Satisfied.Message != tc.message {
				t.Errorf("the message is %q, want %q", result.Satisfied.Message, tc.message)
			}
		})
	}
}
