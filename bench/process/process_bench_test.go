package process

import (
	"testing"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// BenchmarkDecide decides one placement after the other and puts each decision back, as a manager does on a hub that has
// just begun. Larger fleets are measured by make bench.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []Size{{1_000, 1_000}, {10_000, 1_000}} {
		b.Run(size.String(), func(b *testing.B) {
			m := ready(b, size)
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
			m := ready(b, size)
			oracle, err := enginetest.NewOracle()
			if err != nil {
				b.Fatal(err)
			}
			w := m.world().Add(m.fleet.Placements[0])
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

// BenchmarkReput replaces a decision by the same one, which is what an edit of the snapshot costs.
func BenchmarkReput(b *testing.B) {
	m := ready(b, Size{10_000, 100})
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
