package model

import (
	"cmp"
	"slices"
	"strings"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// maxKeys is how many labels and how many claims a page offers to group by: those that most clusters have.
const maxKeys = 40

// Grid is the fleet as the page of cells reads it: a column for each fact, in the order of Names.
type Grid struct {
	Version uint64 `json:"version"`
	// Names are the names of the clusters, sorted.
	Names []string `json:"names"`
	// Health has the letter of each cluster.
	Health string `json:"health"`
	// Selected has how many placements selected each cluster.
	Selected []int `json:"selected"`
	// Tainted has 1 for each cluster with a taint, and 0 for the others.
	Tainted string `json:"tainted"`
}

// Column is one fact of every cluster: values, and for each cluster the index of its value; -1 where it has none.
type Column struct {
	Values []string `json:"values"`
	Index  []int    `json:"index"`
}

// Grid returns the cells of the fleet. The result is shared and read-only.
func (s *State) Grid() *Grid { return s.grid() }

func (s *State) newGrid() *Grid {
	out := &Grid{Version: s.Version, Names: make([]string, 0, len(s.Bundle.Clusters)), Selected: s.counts}
	var health, tainted strings.Builder
	for _, cluster := range s.Bundle.Clusters {
		out.Names = append(out.Names, cluster.Name)
		health.WriteString(string(HealthOf(cluster)))
		tainted.WriteString(map[bool]string{true: "1", false: "0"}[len(cluster.Spec.Taints) > 0])
	}
	out.Health, out.Tainted = health.String(), tainted.String()
	return out
}

// CellChange is a cluster whose cell differs between two grids with the same clusters.
type CellChange struct {
	Index    int    `json:"i"`
	Health   string `json:"health"`
	Selected int    `json:"selected"`
	Tainted  string `json:"tainted"`
}

// Changes returns the cells that differ from an earlier grid. Ok is false if the clusters are not the same, so that the whole grid has
// to be read again.
func (g *Grid) Changes(since *Grid) (changes []CellChange, ok bool) {
	if !slices.Equal(g.Names, since.Names) {
		return nil, false
	}
	for i := range g.Names {
		if g.Health[i] != since.Health[i] || g.Selected[i] != since.Selected[i] || g.Tainted[i] != since.Tainted[i] {
			changes = append(changes, CellChange{i, g.Health[i : i+1], g.Selected[i], g.Tainted[i : i+1]})
		}
	}
	return changes, true
}

// columnBuilder collects the values of a column.
type columnBuilder struct {
	known map[string]int
	out   Column
}

func (b *columnBuilder) add(value string, has bool) {
	if !has {
		b.out.Index = append(b.out.Index, -1)
		return
	}
	at, known := b.known[value]
	if !known {
		at = len(b.out.Values)
		b.known[value], b.out.Values = at, append(b.out.Values, value)
	}
	b.out.Index = append(b.out.Index, at)
}

func newColumnBuilder() *columnBuilder {
	return &columnBuilder{known: map[string]int{}, out: Column{Values: []string{}, Index: []int{}}}
}

// LabelColumn returns the value of a label of every cluster.
func (s *State) LabelColumn(key string) Column {
	b := newColumnBuilder()
	for _, cluster := range s.Bundle.Clusters {
		value, has := cluster.Labels[key]
		b.add(value, has)
	}
	return b.out
}

// ClaimColumn returns the value of a claim of every cluster.
func (s *State) ClaimColumn(name string) Column {
	b := newColumnBuilder()
	for _, cluster := range s.Bundle.Clusters {
		value, has := "", false
		for _, claim := range cluster.Status.ClusterClaims {
			if claim.Name == name {
				value, has = claim.Value, true
			}
		}
		b.add(value, has)
	}
	return b.out
}

// SetColumn returns a set of every cluster: the exclusive one, else the first by name that is not built in. The result is shared and
// read-only.
func (s *State) SetColumn() Column { return Memo(s, "set", s.newSetColumn) }

func (s *State) newSetColumn() Column {
	b := newColumnBuilder()
	ordered := slices.Clone(s.Bundle.Sets)
	slices.SortFunc(ordered, func(x, y *clusterv1beta2.ManagedClusterSet) int {
		return cmp.Or(cmp.Compare(setRank(x), setRank(y)), cmp.Compare(x.Name, y.Name))
	})
	compiled := make([]*fleet.Set, 0, len(ordered))
	for _, set := range ordered {
		compiled = append(compiled, fleet.NewSet(set))
	}
	for _, cluster := range s.Bundle.Clusters {
		member := fleet.NewClusterFromLabels(cluster)
		at := slices.IndexFunc(compiled, func(set *fleet.Set) bool { return set.Has(member) })
		if at < 0 {
			b.add("", false)
			continue
		}
		b.add(compiled[at].Name, true)
	}
	return b.out
}

// setRank puts exclusive sets first and the set of all clusters last.
func setRank(set *clusterv1beta2.ManagedClusterSet) int {
	const global = "global"
	_, exclusive := fleet.NewSet(set).ExclusiveLabel()
	switch {
	case set.Name == global:
		return 2
	case exclusive:
		return 0
	default:
		return 1
	}
}

// VerdictColumn returns the verdict of a placement on every cluster.
func (s *State) VerdictColumn(of *explain.Explanation) Column {
	verdicts := make(map[string]string, len(of.Clusters))
	for i := range of.Clusters {
		verdicts[of.Clusters[i].Name] = of.Clusters[i].Verdict
	}
	b := newColumnBuilder()
	for _, cluster := range s.Bundle.Clusters {
		value, has := verdicts[cluster.Name]
		b.add(value, has)
	}
	return b.out
}

// KeyCount is a label or a claim with the number of clusters that have it.
type KeyCount struct {
	Key   string
	Count int
}

// LabelKeys returns the labels that most clusters have, the most frequent first. The result is shared and read-only.
func (s *State) LabelKeys() []KeyCount { return Memo(s, "labels", s.countLabels) }

func (s *State) countLabels() []KeyCount {
	counts := map[string]int{}
	for _, cluster := range s.Bundle.Clusters {
		for key := range cluster.Labels {
			counts[key]++
		}
	}
	return mostFrequent(counts)
}

// ClaimKeys returns the claims that most clusters have, the most frequent first. The result is shared and read-only.
func (s *State) ClaimKeys() []KeyCount { return Memo(s, "claims", s.countClaims) }

func (s *State) countClaims() []KeyCount {
	counts := map[string]int{}
	for _, cluster := range s.Bundle.Clusters {
		for _, claim := range cluster.Status.ClusterClaims {
			counts[claim.Name]++
		}
	}
	return mostFrequent(counts)
}

func mostFrequent(counts map[string]int) []KeyCount {
	out := make([]KeyCount, 0, len(counts))
	for key, count := range counts {
		out = append(out, KeyCount{key, count})
	}
	slices.SortFunc(out, func(a, b KeyCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key)) })
	return out[:min(len(out), maxKeys)]
}

// HealthCount is how many clusters are in a state.
type HealthCount struct {
	Health Health
	Count  int
}

// HealthCounts returns the number of clusters in each state that any cluster is in, and always of the healthy ones.
func (s *State) HealthCounts() []HealthCount {
	var out []HealthCount
	for _, health := range Healths() {
		if count := strings.Count(s.Grid().Health, string(health)); count > 0 || health == Healthy {
			out = append(out, HealthCount{health, count})
		}
	}
	return out
}
