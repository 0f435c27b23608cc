package inprocess

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// BenchmarkDecide decides placements one after the other and adds each decision to the snapshot, as a manager does on a new hub.
// make bench measures larger fleets.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []Size{{1_000, 1_000}, {10_000, 1_000}} {
		b.Run(size.String(), func(b *testing.B) {
			m := newTestState(b, size)
			s, wanted := m.empty, make([]int, len(m.programs))
			for i, p := range m.programs {
				result, next := decide(s, p)
				wanted[i], s = result.Selected, next
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % len(wanted) {
				if i == 0 {
					s = m.empty
				}
				result, next := decide(s, m.programs[i])
				if result.Selected != wanted[i] {
					b.Fatalf("selected %d for %s, want %d", result.Selected, result.Key, wanted[i])
				}
				s = next
			}
		})
	}
}

// BenchmarkOracle decides the first placement as the oracle does.
func BenchmarkOracle(b *testing.B) {
	for _, size := range []Size{{1_000, 1}, {10_000, 1}} {
		b.Run(size.String(), func(b *testing.B) {
			m := newTestState(b, size)
			oracle, err := enginetest.NewOracle()
			if err != nil {
				b.Fatal(err)
			}
			w := m.oracleState().Add(m.fleet.Placements[0])
			want, _ := decide(m.empty, m.programs[0])
			b.ReportAllocs()
			for b.Loop() {
				if got := oracle.Decide(w, want.Key).Selected; got != want.Selected {
					b.Fatalf("selected %d, want %d", got, want.Selected)
				}
			}
		})
	}
}

// BenchmarkReplaceDecision replaces a decision with an equal decision. It measures the cost of an edit of the snapshot.
func BenchmarkReplaceDecision(b *testing.B) {
	m := newTestState(b, Size{10_000, 100})
	var s *fleet.Snapshot
	key, most := m.programs[0].Key, 0
	s = m.empty
	for _, p := range m.programs {
		result, next := decide(s, p)
		if result.Selected > most {
			key, most = p.Key, result.Selected
		}
		s = next
	}
	b.ReportAllocs()
	for b.Loop() {
		edit := s.Edit()
		edit.SetSlices(key, s.Slices(key))
		if s = edit.Snapshot(); s.Incumbents(key).Count() != most {
			b.Fatalf("%d incumbents, want %d", s.Incumbents(key).Count(), most)
		}
	}
}

// BenchmarkLabelChange finds the placements that a changed label affects, for one cluster after the other. Every placement
// selects by this label, each by another value. It reports the affected placements per cluster, and how many times as long a
// scan of every placement takes.
func BenchmarkLabelChange(b *testing.B) {
	for _, size := range []Size{{10_000, 1_000}, {10_000, 10_000}, {10_000, 100_000}} {
		b.Run(size.String(), func(b *testing.B) {
			m := newTestState(b, size)
			pairs := m.relabelled(50)
			want, touched := make([][]fleet.Key, len(pairs)), 0
			began := time.Now()
			for i, pair := range pairs {
				want[i] = m.scanPlacements(pair[0], pair[1])
				touched += len(want[i])
			}
			scanned := time.Since(began) / time.Duration(len(pairs))
			for i, pair := range pairs {
				got := m.index.ClusterChanged(m.snapshot, pair[0], pair[1])
				if diff := cmp.Diff(want[i], slices.SortedFunc(slices.Values(got), fleet.Key.Compare), cmpopts.EquateEmpty()); diff != "" {
					b.Fatalf("affected by a change of %s (-scan +index):\n%s", pair[0].Name(), diff)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % len(pairs) {
				if got := len(m.index.ClusterChanged(m.snapshot, pairs[i][0], pairs[i][1])); got != len(want[i]) {
					b.Fatalf("%d placements are affected, want %d", got, len(want[i]))
				}
			}
			b.ReportMetric(float64(touched)/float64(len(pairs)), "placements")
			b.ReportMetric(float64(scanned)*float64(b.N)/float64(b.Elapsed()), "x-scan")
		})
	}
}

// scanPlacements scans all placements for those that a changed label affects, sorted. A placement is affected if it can reach
// the cluster and selects it either before or after the change.
func (e *engineState) scanPlacements(before, after *fleet.Cluster) []fleet.Key {
	selects := func(p *program.Program, c *fleet.Cluster) bool {
		return slices.ContainsFunc(e.snapshot.BoundSets(p.Key.Namespace), func(name string) bool {
			set, exists := e.snapshot.Set(name)
			return exists && set.Has(c)
		}) && p.Predicates[0].Selector.Matches(c)
	}
	var out []fleet.Key
	for _, p := range e.programs {
		if selects(p, before) != selects(p, after) {
			out = append(out, p.Key)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}
