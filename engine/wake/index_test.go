package wake_test

import (
	"testing"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

func p() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p") }

func c(name string) *enginetest.ClusterBuilder { return enginetest.Cluster(name).In("all") }

// stateWith has the placement ns/p and the sets all, bound, and spare, not bound.
func stateWith(placement *enginetest.PlacementBuilder, objects ...any) *enginetest.State {
	return enginetest.NewState(append(objects, placement.Obj(), enginetest.Set("all").Obj(), enginetest.Set("spare").Obj())...).
		Bind("ns", "all")
}

func TestWoken(t *testing.T) {
	change := func(object *clusterv1.ManagedCluster) func(*enginetest.Live) {
		return func(l *enginetest.Live) { l.SetCluster(object) }
	}
	remove := func(name string) func(*enginetest.Live) { return func(l *enginetest.Live) { l.DeleteCluster(name) } }
	broken := enginetest.Set("all").Type("Telepathy").Obj()
	eu := clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", "eu")}
	switching := func(label string, expression string) clusterv1beta1.ClusterSelector {
		return clusterv1beta1.ClusterSelector{
			LabelSelector: enginetest.LabelIs("side", label),
			CelSelector:   clusterv1beta1.ClusterCelSelector{CelExpressions: []string{expression}},
		}
	}
	heartbeat := c("a").Obj()
	heartbeat.ResourceVersion = "2"
	for name, tc := range map[string]struct {
		state *enginetest.State
		event func(*enginetest.Live)
		want  bool
	}{
		"a heartbeat":                     {stateWith(p(), c("a").Obj()), change(heartbeat), false},
		"a cluster joins the set":         {stateWith(p()), change(c("a").Obj()), true},
		"a cluster joins another set":     {stateWith(p()), change(enginetest.Cluster("a").In("spare").Obj()), false},
		"a cluster leaves the set":        {stateWith(p(), c("a").Obj()), change(enginetest.Cluster("a").Obj()), true},
		"a cluster is deleted":            {stateWith(p(), c("a").Obj()), remove("a"), true},
		"a cluster begins to be deleted":  {stateWith(p(), c("a").Obj()), change(c("a").Terminating().Obj()), true},
		"a label that no predicate reads": {stateWith(p(), c("a").Obj()), change(c("a").Label("x", "y").Obj()), false},
		"a label that a predicate reads": {
			stateWith(p().Predicate(eu), c("a").Obj()),
			change(c("a").Label("region", "eu").Obj()), true,
		},
		"a label that a group reads": {
			stateWith(p().GroupByLabel("canary", "x", "y"), c("a").Obj()),
			change(c("a").Label("x", "y").Obj()), true,
		},
		"a label that a group reads, of no candidate": {
			stateWith(p().GroupByLabel("canary", "x", "y"), enginetest.Cluster("a").Obj()),
			change(enginetest.Cluster("a").Label("x", "y").Obj()), false,
		},
		"a claim that a predicate reads": {
			stateWith(p().Claims(enginetest.Wants("v", "NotIn", "1")), c("a").Obj()),
			change(c("a").Claim("v", "1").Obj()), true,
		},
		"a taint": {
			stateWith(p(), c("a").Obj()),
			change(c("a").Taint("k", "NoSelect", enginetest.Epoch).Obj()), true,
		},
		"a taint of a cluster that no predicate matches": {
			stateWith(p().Predicate(eu), c("a").Obj()),
			change(c("a").Taint("k", "NoSelect", enginetest.Epoch).Obj()), false,
		},
		"allocatable that no prioritizer reads": {stateWith(p(), c("a").Obj()), change(c("a").CPU("1").Obj()), false},
		"allocatable that a prioritizer reads": {
			stateWith(p().BuiltIn("ResourceAllocatableCPU", 1), c("a").Obj()),
			change(c("a").CPU("1").Obj()), true,
		},
		"memory, where only cpu counts": {
			stateWith(p().BuiltIn("ResourceAllocatableCPU", 1), c("a").Obj()),
			change(c("a").Memory("1").Obj()), false,
		},
		"a field that an expression reads": {
			stateWith(p().CEL(`managedCluster.status.capacity.cpu == "1"`), c("a").Obj()),
			change(c("a").Capacity("cpu", "1").Obj()), true,
		},
		"a field that no expression reads": {
			stateWith(p().CEL(`managedCluster.metadata.name == "a"`), c("a").Obj()),
			change(c("a").Label("x", "y").Obj()), false,
		},
		"the first candidate, though no predicate matches it": {stateWith(p().Predicate(eu)), change(c("a").Obj()), true},
		"the third candidate that no predicate matches": {
			stateWith(p().Predicate(eu), c("a").Obj(), c("b").Obj()), change(c("d").Obj()),
			false,
		},
		"a cluster turns to a predicate whose expression reads nothing of it": {
			stateWith(p().Predicate(switching("left", `false`)).Predicate(switching("right", `true`)), c("a").Label("side", "left").Obj()),
			change(c("a").Label("side", "right").Obj()), true,
		},
		"a held cluster that no predicate matches is deleted": {
			stateWith(p().Predicate(eu), c("a").Obj(), c("b").Obj(), c("d").Obj(), enginetest.Slice("ns", "p", 1, "a").Obj()).Add(broken),
			remove("a"), true,
		},
		"a held cluster that no predicate matches is tainted": {
			stateWith(p().Predicate(eu), c("a").Obj(), enginetest.Slice("ns", "p", 1, "a").Obj()).Add(broken),
			change(c("a").Taint("k", "NoSelect", enginetest.Epoch).Obj()), true,
		},
		"a cluster leaves a readable set while another cannot be read": {
			stateWith(p(), c("a").Obj()).Add(enginetest.Set("odd").Type("Telepathy").Obj()).Bind("ns", "odd"), change(enginetest.Cluster("a").Obj()),
			true,
		},
		"a kept cluster leaves a bound set that the spec does not name": {
			stateWith(p().Sets("all").CEL(`managedCluster.metadata.labels.misspelt == "x"`), c("a").Obj(), enginetest.Cluster("s").In("spare").Obj(),
				enginetest.Slice("ns", "p", 1, "s").Obj()).Bind("ns", "spare"),
			change(enginetest.Cluster("s").Obj()), true,
		},
		"the last bound set goes, which the spec does not name": {
			stateWith(p().Sets("spare")), func(l *enginetest.Live) { l.DeleteSet("all") }, true,
		},
		"a set that is not bound changes": {stateWith(p()), func(l *enginetest.Live) { l.DeleteSet("spare") }, false},
		"a set that is bound appears": {
			stateWith(p()).Bind("ns", "new"), func(l *enginetest.Live) { l.SetSet(enginetest.Set("new").Obj()) },
			true,
		},
		"a binding of another namespace": {stateWith(p()), func(l *enginetest.Live) { l.Bind("elsewhere", "all") }, false},
		"a binding goes":                 {stateWith(p()), func(l *enginetest.Live) { l.Unbind("ns", "all") }, true},
		"a score that no part reads": {
			stateWith(p(), c("a").Obj()),
			func(l *enginetest.Live) { l.SetScore(enginetest.Score("a", "r").Value("s", 1).Obj()) }, false,
		},
		"a score that a prioritizer reads": {
			stateWith(p().AddOn("r", "s", 1), c("a").Obj()), func(l *enginetest.Live) { l.SetScore(enginetest.Score("a", "r").Value("s", 1).Obj()) },
			true,
		},
		"a score that an expression reads": {
			stateWith(p().CEL(`managedCluster.scores("r").size() > 0`), c("a").Obj()),
			func(l *enginetest.Live) { l.SetScore(enginetest.Score("a", "r").Value("s", 1).Obj()) }, true,
		},
		"a score whose name an expression computes": {
			stateWith(p().CEL(`managedCluster.scores(managedCluster.metadata.name).size() > 0`), c("a").Obj()),
			func(l *enginetest.Live) { l.SetScore(enginetest.Score("a", "r").Value("s", 1).Obj()) }, true,
		},
		"the same score again": {
			stateWith(p().AddOn("r", "s", 1), c("a").Obj(), enginetest.Score("a", "r").Value("s",
				1).ValidUntil(enginetest.Epoch.Add(time.Hour)).Obj()),
			func(l *enginetest.Live) {
				l.SetScore(enginetest.Score("a", "r").Value("s", 1).ValidUntil(enginetest.Epoch.Add(time.Hour)).Obj())
			}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := enginetest.NewLive(tc.state, enginetest.Env(t))
			clear(live.Woken)
			tc.event(live)
			if got := live.Woken[enginetest.OnlyPlacement(t, tc.state)]; got != tc.want {
				t.Errorf("woken %v, want %v", got, tc.want)
			}
		})
	}
}
