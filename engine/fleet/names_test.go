package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestNamesAreFound compares the names of a chain of snapshots with a map. Older snapshots keep their names.
func TestNamesAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	name := func(n int) string { return fmt.Sprintf("c%d", n) }
	type state struct {
		snapshot *Snapshot
		known    map[int]ID
	}
	states := []state{{Empty(), map[int]ID{}}}
	for range 400 {
		last := states[len(states)-1]
		next := state{known: maps.Clone(last.known)}
		edit := last.snapshot.Edit()
		for range random.IntN(20) {
			n := random.IntN(300)
			key := Key{"ns", name(n)}
			if _, known := next.known[n]; known {
				edit.SetSlices(key, nil)
				delete(next.known, n)
				continue
			}
			edit.SetSlices(key, []Slice{{Number: 1, Clusters: []string{name(n)}}})
			next.known[n], _ = edit.next.ID(name(n))
		}
		next.snapshot = edit.Snapshot()
		states = append(states, next)
	}
	for step, state := range states {
		for n := range 300 {
			want, known := state.known[n]
			id, found := state.snapshot.ID(name(n))
			if found != known || found && (id != want || state.snapshot.Name(id) != name(n)) {
				t.Fatalf("after %d edits: %s has ID %d, %v; want %d, %v", step, name(n), id, found, want, known)
			}
		}
	}
}
