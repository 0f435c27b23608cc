package engine_test

import (
	"fmt"
	"testing"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
)

// sized prepares an operation for a size, and returns the operation and its expected result.
type sized func(tb testing.TB, n int) (run func() int, want int)

// many is a state of n clusters in a bound set.
func many(n int, p *clusterv1beta1.Placement, shape func(i int, c *enginetest.ClusterBuilder)) *enginetest.State {
	w := enginetest.NewState(p, enginetest.Set("all").Obj()).Bind("ns", "all").At(enginetest.Epoch.Add(time.Minute))
	for i := range n {
		c := enginetest.Cluster(fmt.Sprintf("c%05d", i)).In("all")
		if shape != nil {
			shape(i, c)
		}
		w.Add(c.Obj())
	}
	return w
}

// selects is a decision that selects want clusters.
func selects(tb testing.TB, w *enginetest.State, past ledger.Ledger, want int) (run func() int, selected int) {
	tb.Helper()
	s, p := w.Snapshot(), enginetest.Program(tb, w)
	return func() int { return engine.Schedule(s, p, past).Selected }, want
}

// constraints spreads a placement over labels, one level below the other.
func constraints(hard bool, maxSkew int32, keys ...string) clusterv1beta1.SpreadPolicy {
	var out clusterv1beta1.SpreadPolicy
	for _, key := range keys {
		term := clusterv1beta1.SpreadConstraintsTerm{TopologyKey: key, TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel, MaxSkew: maxSkew}
		if hard {
			term.WhenUnsatisfiable = clusterv1beta1.DoNotSchedule
		}
		out.SpreadConstraints = append(out.SpreadConstraints, term)
	}
	return out
}

// threeLevels chooses all clusters in so many regions; each cluster has a zone and a rack of its own.
func threeLevels(regions int, hard bool) sized {
	return func(tb testing.TB, n int) (func() int, int) {
		p := placement().Number(int32(n)).Obj()
		p.Spec.SpreadPolicy = constraints(hard, 1, "region", "zone", "rack")
		return selects(tb, many(n, p, func(i int, c *enginetest.ClusterBuilder) {
			c.Label("region", fmt.Sprint("r", i%regions)).Label("zone", fmt.Sprint("z", i)).Label("rack", fmt.Sprint("k", i))
		}), ledger.Ledger{}, n)
	}
}

func oneLevel(tb testing.TB, n int) (run func() int, want int) {
	p := placement().Number(int32(n)).Obj()
	p.Spec.SpreadPolicy = constraints(false, 1, "zone")
	return selects(tb, many(n, p, func(i int, c *enginetest.ClusterBuilder) { c.Label("zone", fmt.Sprint("z", i)) }), ledger.Ledger{}, n)
}

func antiAffinity(tb testing.TB, n int) (run func() int, want int) {
	p := placement().Number(int32(n)).Obj()
	p.Spec.SpreadPolicy.AntiAffinity = []clusterv1beta1.AntiAffinityTerm{
		{TopologyKey: "zone", TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel},
	}
	return selects(tb, many(n, p, func(i int, c *enginetest.ClusterBuilder) { c.Label("zone", fmt.Sprint("z", i/2)) }), ledger.Ledger{}, n/2)
}

// groupsOfOne has ten groups of one cluster each and receives all other clusters, each with a slice of its own.
func groupsOfOne(tb testing.TB, n int) (run func() int, created int) {
	w := many(n, placement().PerGroup("1").Obj(), nil)
	for i := range 10 {
		w.Add(enginetest.Slice("ns", "p", i+1, fmt.Sprintf("c%05d", i)).Group("", i).Obj())
	}
	s, p := w.Snapshot(), enginetest.Program(tb, w)
	stored := w.Stored(p.Key)
	return func() int {
		created := 0
		for _, write := range plan.Diff(engine.Schedule(s, p, ledger.Ledger{}), stored, w.Now).Writes {
			if write.Verb == plan.Create {
				created++
			}
		}
		return created
	}, n - 10
}

// groupsCut has all clusters in one group that may hold one in a hundred.
func groupsCut(tb testing.TB, n int) (run func() int, want int) {
	w := many(n, placement().PerGroup("1%").Obj(), nil)
	for first := 0; first < n; first += 100 {
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprintf("c%05d", first+i))
		}
		w.Add(enginetest.Slice("ns", "p", first/100+1, names...).Obj())
	}
	s, p := w.Snapshot(), enginetest.Program(tb, w)
	stored := w.Stored(p.Key)
	return func() int {
		return len(plan.Diff(engine.Schedule(s, p, ledger.Ledger{}), stored, w.Now).Regrouped)
	}, n - n/100*3/2
}

// setsBound reaches its clusters through sets of two each, all bound to the namespace.
func setsBound(tb testing.TB, n int) (run func() int, want int) {
	w := enginetest.NewState(placement().Obj())
	for i := range n {
		set := fmt.Sprintf("s%05d", i)
		w.Add(enginetest.Set(set).Obj()).Bind("ns", set)
		w.Add(enginetest.Cluster(fmt.Sprintf("c%05d", i)).In(set).Obj())
	}
	p := enginetest.Program(tb, w)
	return func() int { return engine.Schedule(w.Snapshot(), p, ledger.Ledger{}).Selected }, n
}

// setsNamed names all sets that are bound.
func setsNamed(tb testing.TB, n int) (run func() int, want int) {
	p := placement()
	w := enginetest.NewState()
	for i := range n {
		set := fmt.Sprintf("s%05d", n-i)
		p.Sets(set)
		w.Add(enginetest.Set(set).Obj()).Bind("ns", set)
		w.Add(enginetest.Cluster(fmt.Sprintf("c%05d", i)).In(set).Obj())
	}
	return selects(tb, w.Add(p.Obj()), ledger.Ledger{}, n)
}

// namespacesBound binds one set to as many namespaces.
func namespacesBound(tb testing.TB, n int) (run func() int, want int) {
	w := many(n, placement().Obj(), nil)
	for i := range n {
		w.Bind(fmt.Sprintf("ns%05d", i), "all")
	}
	p := enginetest.Program(tb, w)
	return func() int { return engine.Schedule(w.Snapshot(), p, ledger.Ledger{}).Selected }, n
}

// budgetSpent has all its clusters tainted at once, and its budget allows the removal of one in ten.
func budgetSpent(tb testing.TB, n int) (run func() int, want int) {
	p := placement().Number(int32(n)).Labels("fit", "yes").Budget("10%", time.Hour).Obj()
	w := many(2*n, p, func(i int, c *enginetest.ClusterBuilder) {
		if i >= n {
			c.Label("fit", "yes")
		}
	})
	for first := 0; first < n; first += 100 {
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprintf("c%05d", first+i))
		}
		w.Add(enginetest.Slice("ns", "p", first/100+1, names...).Obj())
	}
	s, of := w.Snapshot(), enginetest.Program(tb, w)
	return func() int {
		return len(engine.Schedule(s, of, ledger.Ledger{SameSpec: true}).Ledger.Held)
	}, n - n/10
}

// addOnScores reads a score of every cluster, each of its own time.
func addOnScores(tb testing.TB, n int) (run func() int, want int) {
	w := many(n, placement().AddOn("load", "cpu", 1).Number(int32(n/2)).ByScore("1m").Obj(), nil)
	for i := range n {
		w.Add(enginetest.Score(fmt.Sprintf("c%05d", i), "load").Value("cpu",
			int32(i%200-100)).ValidUntil(enginetest.Epoch.Add(time.Duration(n+i) * time.Hour)).Obj())
	}
	p := enginetest.Program(tb, w)
	return func() int { return engine.Schedule(w.Snapshot(), p, ledger.Ledger{}).Selected }, n / 2
}

// balanced counts the decisions of as many placements, and finds the placements that a change of each cluster concerns.
func balanced(tb testing.TB, n int) (run func() int, want int) {
	w := many(n, placement().BuiltIn("Balance", 1).Number(1).Obj(), nil)
	p := enginetest.Program(tb, w)
	others := make([]*program.Program, n)
	for i := range others {
		others[i] = enginetest.Program(tb, w)
		others[i].Key = fleet.Key{Namespace: "ns", Name: fmt.Sprint("other", i)}
	}
	s := w.Snapshot()
	return func() int {
		e, index := s.Edit(), wake.NewIndex()
		for i, other := range others {
			e.SetSlices(other.Key, []fleet.Slice{{Number: 1, Clusters: []string{fmt.Sprintf("c%05d", i)}}})
			index.Put(s, other.Key, other)
		}
		return engine.Schedule(e.Snapshot(), p, ledger.Ledger{}).Selected
	}, 1
}
