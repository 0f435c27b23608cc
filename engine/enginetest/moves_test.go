package enginetest_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

const (
	movesPage = "../../docs/concepts/moves.md"
	label     = clusterv1beta1.TopologyKeyTypeLabel
)

// The columns of the page's table.
const (
	atOnce    = "moves at once"
	inBudget  = "within the budget"
	neverDoes = "never alone"
)

// tableCase is a placement that has selected a and b of four clusters.
type tableCase struct {
	placement *enginetest.PlacementBuilder
	state     *enginetest.State
}

func newTableCase() tableCase {
	p := enginetest.Placement("ns", "p").Number(2).Decided()
	w := enginetest.NewState(enginetest.Set("all").Obj(), enginetest.Slice("ns", "p", 1, "a", "b").Obj()).Bind("ns", "all")
	s := tableCase{p, w}
	return s.with(in("a"), in("b"), in("c"), in("d"))
}

func in(name string) *enginetest.ClusterBuilder { return enginetest.Cluster(name).In("all") }

// with adds or replaces clusters.
func (c tableCase) with(clusters ...*enginetest.ClusterBuilder) tableCase {
	for _, cluster := range clusters {
		c.state.Add(cluster.Obj())
	}
	return c
}

// moves reports whether deciding changes the selected clusters.
func (c tableCase) moves(t *testing.T) bool {
	t.Helper()
	w := c.state.Copy()
	w.Add(c.placement.Obj())
	after := enginetest.Decide(t, w).Clusters()
	slices.Sort(after)
	return !slices.Equal([]string{"a", "b"}, after)
}

// column returns the column of a change: what it does without a policy, and with a budget of 0.
func column(t *testing.T, change func() tableCase) string {
	t.Helper()
	held := change()
	held.placement.Budget("0", time.Hour)
	switch {
	case held.moves(t):
		return atOnce
	case change().moves(t):
		return inBudget
	default:
		return neverDoes
	}
}

// changes are the rows of the table.
func changes() map[string]func() tableCase {
	long := enginetest.Epoch.Add(-time.Hour)
	return map[string]func() tableCase{
		"the spec": func() tableCase {
			s := newTableCase()
			s.placement = enginetest.Placement("ns", "p").Number(2).Labels("env", "prod")
			return s.with(in("c").Label("env", "prod"))
		},
		"a cluster is deleted, or gone": func() tableCase { return newTableCase().with(in("a").Terminating()) },
		"the namespace loses its permission: a binding or a set goes": func() tableCase {
			s := newTableCase()
			s.state.Bindings = nil
			return s
		},
		"membership of sets, by a label of the cluster": func() tableCase {
			return newTableCase().with(enginetest.Cluster("a").In("elsewhere"))
		},
		"labels, claims, expressions: no predicate or tier matches any more": func() tableCase {
			s := newTableCase().with(in("b").Label("env", "prod"), in("c").Label("env", "prod"))
			s.placement.Labels("env", "prod")
			return s
		},
		"a taint that is not tolerated": func() tableCase {
			return newTableCase().with(in("a").Taint("down", clusterv1.TaintEffectNoSelect, long))
		},
		"the time of a toleration is up": func() tableCase {
			s := newTableCase().with(in("a").Taint("down", clusterv1.TaintEffectNoSelect, long))
			s.placement.Tolerate(enginetest.TolerateFor("down", clusterv1.TaintEffectNoSelect, 60))
			return s
		},
		"NoSelectIfNew, PreferNoSelect while Steady counts": func() tableCase {
			return newTableCase().with(in("a").Taint("full", clusterv1.TaintEffectNoSelectIfNew, long),
				in("b").Taint("old", clusterv1.TaintEffectPreferNoSelect, long))
		},
		"a better score, of a candidate or of an add-on": func() tableCase {
			s := newTableCase()
			s.placement.AddOn("load", "cpu", 3)
			s.state.Add(enginetest.Score("c", "load").Value("cpu", 100).Obj())
			return s
		},
		"balance: what other placements select": func() tableCase {
			s := newTableCase()
			s.state.Add(enginetest.Slice("ns", "other", 1, "a", "b").Obj())
			return s
		},
		"clusters of an earlier tier recover": func() tableCase {
			s := newTableCase()
			s.placement.TierOf("first", "c").TierOf("second", "a", "b", "d").Failback(60).Waiting(long, "c")
			return s
		},
		"a constraint is exceeded by what exists (spread, anti-affinity)": func() tableCase {
			s := newTableCase().with(in("a").Label("zone", "x"), in("b").Label("zone", "x"), in("c").Label("zone", "y"))
			s.placement.Apart(label, "zone")
			return s
		},
		"a new cluster that ranks no better": func() tableCase { return newTableCase().with(in("a0")) },
		"a free place": func() tableCase {
			s := newTableCase()
			s.placement.Number(3)
			return s
		},
	}
}

// TestTheMovesTableOfTheDocsHolds compares each row of the table with the engine.
func TestTheMovesTableOfTheDocsHolds(t *testing.T) {
	got := map[string]string{}
	for name, change := range changes() {
		got[name] = column(t, change)
	}
	if diff := cmp.Diff(table(t), got); diff != "" {
		t.Errorf("what moves (-page +engine):\n%s", diff)
	}
}

// TestARecoveredTierMovesNothingBeforeItsTime tests the condition in the row of recovered tiers.
func TestARecoveredTierMovesNothingBeforeItsTime(t *testing.T) {
	s := newTableCase()
	s.placement.TierOf("first", "c").TierOf("second", "a", "b", "d").Failback(60).Waiting(enginetest.Epoch.Add(-59*time.Second), "c")
	if s.moves(t) {
		t.Error("a cluster that has qualified for 59 of 60 seconds displaces another")
	}
}

// table reads the page: for each change the column with a mark.
func table(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(movesPage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "what changes" {
			continue
		}
		for i, name := range []string{atOnce, inBudget, neverDoes} {
			if strings.TrimSpace(cells[i+2]) != "" {
				out[strings.TrimSpace(cells[1])] = name
			}
		}
	}
	return out
}
