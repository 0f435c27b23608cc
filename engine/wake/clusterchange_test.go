package wake_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

// TestWokenByTiersSpreadAndNames has two candidates, a and b.
func TestWokenByTiersSpreadAndNames(t *testing.T) {
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
	hard := topologyTerm("Label", "zone")
	hard.WhenUnsatisfiable = clusterv1beta1.DoNotSchedule
	claimed := clusterv1beta1.AntiAffinityTerm{TopologyKey: "rack", TopologyKeyType: "Claim"}
	percent, number := withBudget(intstr.FromString("10%")), withBudget(intstr.FromInt32(1))
	for name, tc := range map[string]struct {
		spec  []specOption
		event func(*enginetest.Live)
		want  bool
	}{
		"a cluster that passes no predicate, but may be held": {
			[]specOption{withSelector(named("n")), number},
			becomes(c("a").Terminating()),
			true,
		},
		"a named cluster comes": {[]specOption{withSelector(named("n"))}, becomes(c("n")), true},
		"another comes":         {[]specOption{withSelector(named("n"))}, becomes(c("m")), false},
		"a named cluster goes":  {[]specOption{withSelector(named("a"))}, leaves("a"), true},
		"a named cluster is tainted": {
			[]specOption{withSelector(named("a"))},
			becomes(c("a").Taint("k", "NoSelect", enginetest.Epoch)), true,
		},
		"another is tainted": {
			[]specOption{withSelector(named("a"))},
			becomes(c("b").Taint("k", "NoSelect", enginetest.Epoch)), false,
		},
		"a named cluster leaves the set":                   {[]specOption{withSelector(named("a"))}, becomes(enginetest.Cluster("a")), true},
		"a named cluster outside the set":                  {[]specOption{withSelector(named("n"))}, becomes(enginetest.Cluster("n")), false},
		"a claim gets the value that a predicate requires": {[]specOption{withSelector(gpu)}, becomes(c("a").Claim("gpu", "a b")), true},
		"a claim gets another value":                       {[]specOption{withSelector(gpu)}, becomes(c("a").Claim("gpu", "c")), false},

		"a label that a tier reads":                  {[]specOption{withTier(eu)}, becomes(c("a").Label("region", "eu")), true},
		"a label that no tier reads":                 {[]specOption{withTier(eu)}, becomes(c("a").Label("zone", "1")), false},
		"a claim that a tier reads":                  {[]specOption{withTier(gpu)}, becomes(c("a").Claim("gpu", "a b")), true},
		"a label that a tier reads, of no candidate": {[]specOption{withTier(eu)}, becomes(enginetest.Cluster("x").Label("region", "eu")), false},
		"a label that a tier reads, of one that no predicate matches": {
			[]specOption{withTier(eu), withSelector(named("b"))}, becomes(c("a").Label("region", "eu")), false,
		},
		"a label that a tier's expression reads": {
			[]specOption{withTier(byCEL(`managedCluster.metadata.labels.x == "y"`))},
			becomes(c("a").Label("x", "y")), true,
		},
		"a part that no tier's expression reads": {
			[]specOption{withTier(byCEL(`managedCluster.metadata.labels.x == "y"`))},
			becomes(c("a").Label("zone", "1").CPU("1")), false,
		},
		"a score that a tier's expression reads": {[]specOption{withTier(byCEL(`managedCluster.scores("load").size() > 0`))}, scored, true},
		"a score that no expression reads":       {[]specOption{withTier(byCEL(`managedCluster.scores("cost").size() > 0`))}, scored, false},
		"a claim that an expression names": {
			[]specOption{withTier(byCEL(`managedCluster.claim("x") == "y"`))},
			becomes(c("a").Claim("x", "z")), true,
		},
		"a label that a group's expression reads": {
			[]specOption{withGroup(
				clusterv1beta1.GroupClusterSelector{CelSelector: expressions(`managedCluster.metadata.labels.x == "y"`)})},
			becomes(c("a").Label("x", "y")), true,
		},
		"a score that a group's expression reads": {[]specOption{withGroup(
			clusterv1beta1.GroupClusterSelector{CelSelector: expressions(`managedCluster.scores("load").size() > 0`)})}, scored, true},
		"a claim that a group selects by value": {[]specOption{withGroup(
			clusterv1beta1.GroupClusterSelector{ClaimSelector: gpu.ClaimSelector})}, becomes(c("a").Claim("gpu", "a b")), true},

		"a topology key appears": {
			[]specOption{withOneCluster, withSpread(topologyTerm("Label", "zone"))},
			becomes(c("b").Label("zone", "1")), true,
		},
		"its value changes": {
			[]specOption{withOneCluster, withSpread(topologyTerm("Label", "zone"))},
			becomes(c("a").Label("zone", "2")), true,
		},
		"it goes": {
			[]specOption{withOneCluster, withSpread(topologyTerm("Label", "zone"))},
			becomes(c("a")),
			true,
		},
		"another key": {
			[]specOption{withOneCluster, withSpread(topologyTerm("Label", "region"))},
			becomes(c("a").Label("zone", "2")), false,
		},
		"a claim of the same key": {
			[]specOption{withOneCluster, withSpread(topologyTerm("Claim", "zone"))},
			becomes(c("a").Label("zone", "2")), false,
		},
		"a soft constraint where all are wanted": {
			[]specOption{withSpread(topologyTerm("Label", "zone"))},
			becomes(c("a").Label("zone", "2")), false,
		},
		"a hard constraint where all are wanted": {[]specOption{withSpread(hard)}, becomes(c("a").Label("zone", "2")), true},
		"a claim that keeps clusters apart": {
			[]specOption{withAntiAffinity(claimed)},
			becomes(c("a").Label("zone", "1").Claim("rack", "r")), true,
		},
		"a topology of one that no predicate matches": {
			[]specOption{withSpread(hard), withSelector(named("b"))},
			becomes(c("a").Label("zone", "2")), false,
		},

		"a cluster that is selected and may not be goes, and a percentage may be dropped": {
			[]specOption{percent, withSelector(named("b"))},
			leaves("gone"), true,
		},
		"and a number may be dropped":                        {[]specOption{number, withSelector(named("b"))}, leaves("gone"), false},
		"a cluster that is not selected and may not be goes": {[]specOption{percent, withSelector(named("b"))}, leaves("far"), false},
		"a cluster that is selected and may not be is only tainted": {
			[]specOption{percent},
			becomes(enginetest.Cluster("gone").Taint("k", "NoSelect", enginetest.Epoch)), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := stateWith(p(), c("a").Label("zone", "1").Obj(), c("b").Obj(), enginetest.Cluster("gone").Obj(), enginetest.Cluster("far").Obj(),
				enginetest.Slice("ns", "p", 1, "a", "gone").Obj()).Add(with(tc.spec...))
			live := enginetest.NewLive(w, enginetest.Env(t))
			clear(live.Woken)
			tc.event(live)
			if got := live.Woken[enginetest.OnlyPlacement(t, w)]; got != tc.want {
				t.Errorf("woken %v, want %v", got, tc.want)
			}
		})
	}
}
