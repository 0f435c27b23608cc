package program_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

func grouped(selector clusterv1beta1.GroupClusterSelector) change {
	return func(spec *clusterv1beta1.PlacementSpec) {
		strategy := &spec.DecisionStrategy.GroupStrategy
		strategy.DecisionGroups = append(strategy.DecisionGroups, clusterv1beta1.DecisionGroup{GroupName: "canary", ClusterSelector: selector})
	}
}

func limited(spec *clusterv1beta1.PlacementSpec) { spec.NumberOfClusters = new(int32(1)) }

func expressions(texts ...string) clusterv1beta1.ClusterCelSelector {
	return clusterv1beta1.ClusterCelSelector{CelExpressions: texts}
}

func tierOf(selector clusterv1beta1.ClusterSelector) change {
	return tiered(clusterv1beta1.ClusterTier{Name: "first", ClusterSelector: selector}, tier("rest"))
}

// TestWhoIsWokenByTiersSpreadAndNames is about two clusters, a and b, both of which the placement may choose.
func TestWhoIsWokenByTiersSpreadAndNames(t *testing.T) {
	becomes := func(object *enginetest.ClusterBuilder) func(*enginetest.Live) {
		return func(l *enginetest.Live) { l.SetCluster(object.Obj()) }
	}
	leaves := func(name string) func(*enginetest.Live) { return func(l *enginetest.Live) { l.DeleteCluster(name) } }
	scored := func(l *enginetest.Live) { l.SetScore(enginetest.Score("a", "load").Value("cpu", 1).Obj()) }
	named := func(names ...string) clusterv1beta1.ClusterSelector {
		return clusterv1beta1.ClusterSelector{ClusterNames: names}
	}
	eu := clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", "eu")}
	gpu := clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"gpu": "a b"}}}
	byCEL := func(text string) clusterv1beta1.ClusterSelector {
		return clusterv1beta1.ClusterSelector{CelSelector: expressions(text)}
	}
	hard := over("Label", "zone")
	hard.WhenUnsatisfiable = clusterv1beta1.DoNotSchedule
	claimed := clusterv1beta1.AntiAffinityTerm{TopologyKey: "rack", TopologyKeyType: "Claim"}
	percent, number := dropping(intstr.FromString("10%"), 0), dropping(intstr.FromInt32(1), 0)
	for name, tc := range map[string]struct {
		spec  []change
		event func(*enginetest.Live)
		want  bool
	}{
		"one that passes no predicate, but may be held": {[]change{selecting(named("n")), number}, becomes(c("a").Terminating()), true},
		"a named cluster comes":                         {[]change{selecting(named("n"))}, becomes(c("n")), true},
		"another comes":                                 {[]change{selecting(named("n"))}, becomes(c("m")), false},
		"a named cluster goes":                          {[]change{selecting(named("a"))}, leaves("a"), true},
		"a named cluster is tainted":                    {[]change{selecting(named("a"))}, becomes(c("a").Taint("k", "NoSelect", enginetest.Epoch)), true},
		"another is tainted":                            {[]change{selecting(named("a"))}, becomes(c("b").Taint("k", "NoSelect", enginetest.Epoch)), false},
		"a named cluster leaves the set":                {[]change{selecting(named("a"))}, becomes(enginetest.Cluster("a")), true},
		"a named cluster outside the set":               {[]change{selecting(named("n"))}, becomes(enginetest.Cluster("n")), false},
		"a claim gets the value that a predicate asks":  {[]change{selecting(gpu)}, becomes(c("a").Claim("gpu", "a b")), true},
		"a claim gets another value":                    {[]change{selecting(gpu)}, becomes(c("a").Claim("gpu", "c")), false},

		"a label that a tier reads":                  {[]change{tierOf(eu)}, becomes(c("a").Label("region", "eu")), true},
		"a label that no tier reads":                 {[]change{tierOf(eu)}, becomes(c("a").Label("zone", "1")), false},
		"a claim that a tier reads":                  {[]change{tierOf(gpu)}, becomes(c("a").Claim("gpu", "a b")), true},
		"a label that a tier reads, of no candidate": {[]change{tierOf(eu)}, becomes(enginetest.Cluster("x").Label("region", "eu")), false},
		"a label that a tier reads, of one that no predicate matches": {
			[]change{tierOf(eu), selecting(named("b"))}, becomes(c("a").Label("region", "eu")), false,
		},
		"a label that a tier's expression reads":      {[]change{tierOf(byCEL(`managedCluster.metadata.labels.x == "y"`))}, becomes(c("a").Label("x", "y")), true},
		"a part that no tier's expression reads":      {[]change{tierOf(byCEL(`managedCluster.metadata.labels.x == "y"`))}, becomes(c("a").Label("zone", "1").CPU("1")), false},
		"a score that a tier's expression reads":      {[]change{tierOf(byCEL(`managedCluster.scores("load").size() > 0`))}, scored, true},
		"a score that no expression reads":            {[]change{tierOf(byCEL(`managedCluster.scores("cost").size() > 0`))}, scored, false},
		"a claim that an expression asks for by name": {[]change{tierOf(byCEL(`managedCluster.claim("x") == "y"`))}, becomes(c("a").Claim("x", "z")), true},
		"a label that a group's expression reads":     {[]change{grouped(clusterv1beta1.GroupClusterSelector{CelSelector: expressions(`managedCluster.metadata.labels.x == "y"`)})}, becomes(c("a").Label("x", "y")), true},
		"a score that a group's expression reads":     {[]change{grouped(clusterv1beta1.GroupClusterSelector{CelSelector: expressions(`managedCluster.scores("load").size() > 0`)})}, scored, true},
		"a claim that a group asks for by value":      {[]change{grouped(clusterv1beta1.GroupClusterSelector{ClaimSelector: gpu.ClaimSelector})}, becomes(c("a").Claim("gpu", "a b")), true},

		"a topology key appears":                      {[]change{limited, spreading(over("Label", "zone"))}, becomes(c("b").Label("zone", "1")), true},
		"its value changes":                           {[]change{limited, spreading(over("Label", "zone"))}, becomes(c("a").Label("zone", "2")), true},
		"it goes":                                     {[]change{limited, spreading(over("Label", "zone"))}, becomes(c("a")), true},
		"another key":                                 {[]change{limited, spreading(over("Label", "region"))}, becomes(c("a").Label("zone", "2")), false},
		"a claim of the same key":                     {[]change{limited, spreading(over("Claim", "zone"))}, becomes(c("a").Label("zone", "2")), false},
		"a soft constraint where all are wanted":      {[]change{spreading(over("Label", "zone"))}, becomes(c("a").Label("zone", "2")), false},
		"a hard constraint where all are wanted":      {[]change{spreading(hard)}, becomes(c("a").Label("zone", "2")), true},
		"a claim that keeps clusters apart":           {[]change{apart(claimed)}, becomes(c("a").Label("zone", "1").Claim("rack", "r")), true},
		"a topology of one that no predicate matches": {[]change{spreading(hard), selecting(named("b"))}, becomes(c("a").Label("zone", "2")), false},

		"a cluster that is selected and may not be goes, and a percentage may be dropped": {[]change{percent, selecting(named("b"))}, leaves("gone"), true},
		"and a number may be dropped":                               {[]change{number, selecting(named("b"))}, leaves("gone"), false},
		"a cluster that is not selected and may not be goes":        {[]change{percent, selecting(named("b"))}, leaves("far"), false},
		"a cluster that is selected and may not be is only tainted": {[]change{percent}, becomes(enginetest.Cluster("gone").Taint("k", "NoSelect", enginetest.Epoch)), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := hub(p(), c("a").Label("zone", "1").Obj(), c("b").Obj(), enginetest.Cluster("gone").Obj(), enginetest.Cluster("far").Obj(),
				enginetest.Slice("ns", "p", 1, "a", "gone").Obj()).Add(with(tc.spec...))
			live := enginetest.NewLive(w, enginetest.Env(t))
			clear(live.Woken)
			tc.event(live)
			if got := live.Woken[enginetest.Only(t, w)]; got != tc.want {
				t.Errorf("woken %v, want %v", got, tc.want)
			}
		})
	}
}
