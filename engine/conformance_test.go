package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
)

const (
	satisfied   = "Satisfied=True AllDecisionsScheduled: All cluster decisions scheduled"
	noMistake   = "Misconfigured=False Succeedconfigured: Placement configurations check pass"
	nothingDone = "Satisfied=False NotAllDecisionsScheduled: Nothing is decided while the placement is misconfigured"
)

// messages returns a result as lines.
func messages(result *engine.Result) []string {
	var out []string
	for _, slice := range result.Slices() {
		names := strings.Join(slice.Clusters, " ")
		if n := len(slice.Clusters); n > 6 {
			names = fmt.Sprintf("%s to %s, %d in all", slice.Clusters[0], slice.Clusters[n-1], n)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d in %q#%d: %s", slice.Number, slice.Group, slice.GroupIndex, names)))
	}
	for _, c := range []engine.Condition{result.Satisfied, result.Misconfigured} {
		out = append(out, fmt.Sprintf("%s=%s %s: %s", strings.TrimPrefix(c.Type, "Placement"), c.Status, c.Reason, c.Message))
	}
	return out
}

// state has clusters in the set "all", which is bound to namespace ns.
func state(placement *enginetest.PlacementBuilder, clusters ...*enginetest.ClusterBuilder) *enginetest.State {
	w := enginetest.NewState(enginetest.Set("all").Obj(), placement.Obj()).Bind("ns", "all")
	for _, cluster := range clusters {
		w.Add(cluster.In("all").Obj())
	}
	return w
}

func numbered(prefix string, n int) []*enginetest.ClusterBuilder {
	var out []*enginetest.ClusterBuilder
	for i := range n {
		out = append(out, enginetest.Cluster(fmt.Sprintf("%s%03d", prefix, i)))
	}
	return out
}

func labelled(clusters []*enginetest.ClusterBuilder, key, value string) []*enginetest.ClusterBuilder {
	for _, cluster := range clusters {
		cluster.Label(key, value)
	}
	return clusters
}

func placement() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p") }

func prior(number int, clusters ...string) *clusterv1beta1.PlacementDecision {
	return enginetest.Slice("ns", "p", number, clusters...).Obj()
}

// scenario is a state with the expected result.
type scenario struct {
	state *enginetest.State
	want  []string
}

func runScenarios(t *testing.T, scenes map[string]scenario) {
	t.Helper()
	for name, tc := range scenes {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, messages(enginetest.Decide(t, tc.state))); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConformanceGroupsAndSlices(t *testing.T) {
	canaries := func() []*enginetest.ClusterBuilder {
		return slices.Concat(labelled(numbered("eu", 10), "canary", "eu"), labelled(numbered("us", 10), "canary", "us"), numbered("w", 290))
	}
	runScenarios(t, map[string]scenario{
		"1: a namespace without a binding gets one empty slice": {
			state: enginetest.NewState(placement().Obj()),
			want: []string{
				`1 in ""#0:`,
				"Satisfied=False NoManagedClusterSetBindings: No valid ManagedClusterSetBindings found in placement namespace", noMistake,
			},
		},
		"2: 250 clusters without a strategy are one group of three slices": {
			state: state(placement(), numbered("c", 250)...),
			want: []string{
				`1 in ""#0: c000 to c099, 100 in all`, `2 in ""#0: c100 to c199, 100 in all`, `3 in ""#0: c200 to c249, 50 in all`,
				satisfied, noMistake,
			},
		},
		"3: two canary groups of 10 and 290 others at 150 a group make four groups in six slices": {
			state: state(placement().GroupByLabel("canary-eu", "canary", "eu").GroupByLabel("canary-us", "canary", "us").PerGroup("150"),
				canaries()...),
			want: []string{
				`1 in "canary-eu"#0: eu000 to eu009, 10 in all`, `2 in "canary-us"#1: us000 to us009, 10 in all`,
				`3 in ""#2: w000 to w099, 100 in all`, `4 in ""#2: w100 to w149, 50 in all`,
				`5 in ""#3: w150 to w249, 100 in all`, `6 in ""#3: w250 to w289, 40 in all`, satisfied, noMistake,
			},
		},
		"4: of 4 clusters at one a group the 2 canaries have groups of one name": {
			state: state(placement().GroupByLabel("canary", "canary", "yes").PerGroup("1"),
				append(labelled(numbered("x", 2), "canary", "yes"), numbered("a", 2)...)...),
			want: []string{
				`1 in "canary"#0: x000`, `2 in "canary"#1: x001`, `3 in ""#2: a000`, `4 in ""#3: a001`, satisfied, noMistake,
			},
		},
		"5: 25 percent of 3 are three groups of one": {
			state: state(placement().PerGroup("25%"), numbered("c", 3)...),
			want:  []string{`1 in ""#0: c000`, `2 in ""#1: c001`, `3 in ""#2: c002`, satisfied, noMistake},
		},
		"an empty group selector swallows everything": {
			state: state(placement().Group("every", clusterv1beta1.GroupClusterSelector{}), numbered("c", 2)...),
			want:  []string{`1 in "every"#0: c000 c001`, satisfied, noMistake},
		},
		"a group that matches nothing takes no index": {
			state: state(placement().GroupByLabel("none", "no", "such").GroupByLabel("some", "a", "b"),
				append(labelled(numbered("x", 1), "a", "b"), numbered("c", 1)...)...),
			want: []string{`1 in "some"#0: x000`, `2 in ""#1: c000`, satisfied, noMistake},
		},
		"15: a cluster that comes to 150 takes the gap, and no cluster moves": {
			state: state(placement(), append(numbered("c", 150), enginetest.Cluster("a000"))...).
				Add(prior(1, names("c", 0, 100)...)).Add(prior(2, names("c", 100, 150)...)),
			want: []string{`1 in ""#0: c000 to c099, 100 in all`, `2 in ""#0: a000 to c149, 51 in all`, satisfied, noMistake},
		},
	})
}

func names(prefix string, from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("%s%03d", prefix, i))
	}
	return out
}

func TestConformanceNumbers(t *testing.T) {
	three := func(p *enginetest.PlacementBuilder) *enginetest.State { return state(p, numbered("c", 3)...) }
	runScenarios(t, map[string]scenario{
		"11: no clusters wanted is satisfied": {three(placement().Number(0)), []string{`1 in ""#0:`, satisfied, noMistake}},
		"11: fewer than nothing is a mistake and keeps what was decided": {
			three(placement().Number(-1)).Add(prior(1, "c001")),
			[]string{
				`1 in ""#0: c001`, nothingDone,
				"Misconfigured=True Misconfigured: Placement:spec.numberOfClusters: Invalid value: -1: must be 0 or more",
			},
		},
		"11: more than there are selects all and reports how many are missing": {
			three(placement().Number(5)),
			[]string{`1 in ""#0: c000 c001 c002`, "Satisfied=False NotAllDecisionsScheduled: 2 cluster decisions unscheduled", noMistake},
		},
		"a number that fits is satisfied, and ties go by name": {
			three(placement().Number(2)), []string{`1 in ""#0: c000 c001`, satisfied, noMistake},
		},
		"7: Steady keeps an incumbent before a newcomer of a lower name": {
			three(placement().Number(1)).Add(prior(1, "c002")), []string{`1 in ""#0: c002`, satisfied, noMistake},
		},
	})
}

func TestConformanceReasons(t *testing.T) {
	empty := enginetest.Set("empty").Obj()
	runScenarios(t, map[string]scenario{
		"a binding of a set that does not exist does not count": {
			enginetest.NewState(placement().Obj()).Bind("ns", "gone"),
			[]string{
				`1 in ""#0:`,
				"Satisfied=False NoManagedClusterSetBindings: No valid ManagedClusterSetBindings found in placement namespace", noMistake,
			},
		},
		"sets that are requested and not bound leave no intersection": {
			state(placement().Sets("b", "a"), numbered("c", 1)...),
			[]string{
				`1 in ""#0:`, "Satisfied=False NoIntersection: None of ManagedClusterSets [b,a] is bound to placement namespace",
				`Misconfigured=True UnknownReference: ClusterSets:no ManagedClusterSet "b" is bound to the namespace; ` +
					`ClusterSets:no ManagedClusterSet "a" is bound to the namespace`,
			},
		},
		"sets without members are reported": {
			state(placement()).Add(empty).Bind("ns", "empty"),
			[]string{
				`1 in ""#0:`,
				"Satisfied=False AllManagedClusterSetsEmpty: All ManagedClusterSets [all,empty] have no member ManagedCluster", noMistake,
			},
		},
		"a set whose only member is being deleted is empty": {
			state(placement(), enginetest.Cluster("c").Terminating()),
			[]string{
				`1 in ""#0:`, "Satisfied=False AllManagedClusterSetsEmpty: All ManagedClusterSets [all] have no member ManagedCluster", noMistake,
			},
		},
		"clusters that no predicate matches": {
			state(placement().Labels("a", "b"), numbered("c", 1)...),
			[]string{
				`1 in ""#0:`, "Satisfied=False NoManagedClusterMatched: No ManagedCluster matches any of the cluster predicate",
				`Misconfigured=True UnknownReference: Predicate:no cluster in reach has the label "a"`,
			},
		},
		"clusters that match and are tainted differ from clusters that do not match": {
			state(placement(), enginetest.Cluster("c").Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch)),
			[]string{
				`1 in ""#0:`,
				"Satisfied=False NoManagedClusterMatched: Each of the 1 ManagedClusters that match the cluster predicates has a " +
					"taint that is not tolerated",
				noMistake,
			},
		},
	})
}

func TestConformanceMistakesNeverEvict(t *testing.T) {
	broken := enginetest.Set("all").Type("Telepathy").Obj()
	brokenSays := `Misconfigured=True Misconfigured: ManagedClusterSet:all: spec.clusterSelector.selectorType: Unsupported value: "Telepathy": ` +
		`supported values: "ExclusiveClusterSetLabel", "LabelSelector", "ExclusiveLabel"`
	runScenarios(t, map[string]scenario{
		"12: a missing label key is no match": {
			state(placement().CEL(`managedCluster.metadata.labels["env"] == "prod"`),
				enginetest.Cluster("a").Label("env", "prod"), enginetest.Cluster("b")).Add(prior(1, "a", "b")),
			[]string{`1 in ""#0: a`, satisfied, noMistake},
		},
		"12: an expression that fails on every cluster keeps what was decided": {
			state(placement().CEL(`managedCluster.metadata.labels["misspelt"] == "prod"`), numbered("c", 2)...).Add(prior(1, "c001")),
			[]string{
				`1 in ""#0: c001`, nothingDone,
				"Misconfigured=True Misconfigured: Predicate:predicates[0].celExpressions[0]: no such key: misspelt on every one of 2 clusters",
			},
		},
		"17: two add-on scores of one coordinate are a mistake": {
			state(placement().AddOn("r", "s", 1).AddOn("r", "s", 2), numbered("c", 2)...).Add(prior(1, "c001")),
			[]string{
				`1 in ""#0: c001`, nothingDone,
				`Misconfigured=True Misconfigured: Prioritizer:spec.prioritizerPolicy.configurations[1].scoreCoordinate: Duplicate value: "AddOn/r/s"`,
			},
		},
		"a mistake keeps no cluster that the namespace cannot reach": {
			state(placement().Mode("Loose"), numbered("c", 1)...).Add(enginetest.Cluster("foreign").Obj()).Add(prior(1, "c000", "foreign", "gone")),
			[]string{
				`1 in ""#0: c000`, nothingDone,
				`Misconfigured=True Misconfigured: Prioritizer:spec.prioritizerPolicy.mode: Invalid value: "Loose": ` +
					"incorrect prioritizer policy mode: Loose, use Additive or Exact",
			},
		},
		"a set that cannot be read holds its clusters": {
			state(placement(), numbered("c", 2)...).Add(broken).Add(prior(1, "c001")),
			[]string{`1 in ""#0: c001`, satisfied, brokenSays},
		},
		"a set that cannot be read is not called empty": {
			state(placement(), numbered("c", 2)...).Add(broken),
			[]string{`1 in ""#0:`, "Satisfied=False NoManagedClusterMatched: No ManagedCluster matches any of the cluster predicate", brokenSays},
		},
		"a set that cannot be read affects no other cluster": {
			state(placement(), numbered("c", 2)...).Add(broken).Add(enginetest.Set("good").Obj()).Bind("ns", "good").
				Add(enginetest.Cluster("g").In("good").Obj()).Add(prior(1, "c001")),
			[]string{`1 in ""#0: c001 g`, satisfied, brokenSays},
		},
	})
}

func TestConformanceClaims(t *testing.T) {
	clusters := []*enginetest.ClusterBuilder{
		enginetest.Cluster("a").Claim("version", "v1.26.8+rke2r1"), enginetest.Cluster("b").Claim("version", "v1.27.0"), enginetest.Cluster("c"),
	}
	runScenarios(t, map[string]scenario{
		"13: a claim value need not be a label value": {
			state(placement().Claims(enginetest.Wants("version", "In", "v1.26.8+rke2r1")), clusters...),
			[]string{`1 in ""#0: a`, satisfied, noMistake},
		},
		"NotIn matches a cluster without the claim": {
			state(placement().Claims(enginetest.Wants("version", "NotIn", "v1.27.0")), clusters...),
			[]string{`1 in ""#0: a c`, satisfied, noMistake},
		},
		"DoesNotExist matches a cluster without the claim": {
			state(placement().Claims(enginetest.Wants("version", "DoesNotExist")), clusters...), []string{`1 in ""#0: c`, satisfied, noMistake},
		},
	})
}

func TestConformanceTaints(t *testing.T) {
	at := enginetest.Epoch
	ifNew := func(name string) *enginetest.ClusterBuilder {
		return enginetest.Cluster(name).Taint("drain", clusterv1.TaintEffectNoSelectIfNew, at)
	}
	runScenarios(t, map[string]scenario{
		"9: a toleration is over at the very second": {
			state(placement().Tolerate(enginetest.TolerateFor("gpu", "", 60)), enginetest.Cluster("c").Taint("gpu", "NoSelect", at)).
				At(at.Add(60 * time.Second)),
			[]string{
				`1 in ""#0:`,
				"Satisfied=False NoManagedClusterMatched: Each of the 1 ManagedClusters that match the cluster predicates has a " +
					"taint that is not tolerated",
				noMistake,
			},
		},
		"10: an incumbent stays on a NoSelectIfNew taint and a newcomer is refused": {
			state(placement(), ifNew("old"), ifNew("new")).Add(prior(1, "old")), []string{`1 in ""#0: old`, satisfied, noMistake},
		},
		"18: two taints of one key and two effects count each on its own": {
			state(placement().Tolerate(enginetest.Tolerates("drain", "NoSelect")),
				ifNew("c").Taint("drain", clusterv1.TaintEffectNoSelect, at)).Add(prior(1, "c")),
			[]string{`1 in ""#0: c`, satisfied, noMistake},
		},
	})
}

func TestAFailedWriteIsInTheNextPlanAgain(t *testing.T) {
	w := state(placement(), numbered("c", 150)...)
	key := enginetest.OnlyPlacement(t, w)
	writes := plan.Diff(enginetest.Decide(t, w), w.Stored(key), w.Now).Writes
	w.Apply(writes[0]) // the second write fails, so the report is never written
	var got []string
	for _, write := range plan.Diff(enginetest.Decide(t, w), w.Stored(key), w.Now).Writes {
		got = append(got, write.Verb.String())
	}
	if diff := cmp.Diff([]string{"create", "update-metadata", "update-metadata", "update-status"}, got); diff != "" {
		t.Errorf("16: writes after a failure (-want +got):\n%s", diff)
	}
}

func TestResultHasTheInstantToDecideAgain(t *testing.T) {
	at := enginetest.Epoch
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  time.Time
	}{
		"never where nothing runs out": {state(placement(), numbered("c", 2)...), time.Time{}},
		"when the first toleration ends": {
			state(placement().Tolerate(enginetest.TolerateFor("gpu", "", 60)),
				enginetest.Cluster("a").Taint("gpu", "NoSelect", at), enginetest.Cluster("b").Taint("gpu", "NoSelect", at.Add(-20*time.Second))),
			at.Add(40 * time.Second),
		},
		"never for a taint without timeAdded": {state(placement().Tolerate(enginetest.TolerateFor("gpu", "", 60)),
			enginetest.Cluster("a").Taint("gpu", "NoSelect", time.Time{})), time.Time{}},
		"right after a score that is used ends": {state(placement().AddOn("r", "s", 1),
			enginetest.Cluster("a")).Add(enginetest.Score("a", "r").Value("s", 1).ValidUntil(at.Add(time.Minute)).Obj()), at.Add(time.Minute + 1)},
		"never for a score that is not used": {state(placement(),
			enginetest.Cluster("a")).Add(enginetest.Score("a", "r").Value("s", 1).ValidUntil(at.Add(time.Minute)).Obj()), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := enginetest.Decide(t, tc.state).RecheckAt; !got.Equal(tc.want) {
				t.Errorf("RecheckAt = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAMistakeAmidAChangeOfStrategyDoesNotEndIt(t *testing.T) {
	w := state(placement().Mode("Loose"), numbered("c", 2)...).
		Add(enginetest.Slice("ns", "p", 1, "c000").Strategy("new").Obj()).Add(enginetest.Slice("ns", "p", 2, "c001").Strategy("old").Obj())
	for _, write := range plan.Diff(enginetest.Decide(t, w), w.Stored(enginetest.OnlyPlacement(t, w)), w.Now).Writes {
		w.Apply(write)
	}
	w.Add(placement().Obj())
	if diff := cmp.Diff([]string{`1 in ""#0: c000 c001`, satisfied, noMistake}, messages(enginetest.Decide(t, w))); diff != "" {
		t.Errorf("result once the mistake is mended (-want +got):\n%s", diff)
	}
}
