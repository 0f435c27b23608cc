package work

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// TestHoldersFindTheWorksThatALookAtEveryWorkFinds changes works at random, and removes them all at the end.
func TestHoldersFindTheWorksThatALookAtEveryWorkFinds(t *testing.T) {
	var all []object.ID
	for i := range 4 {
		all = append(all, object.ID{Resource: "configmaps", Namespace: "n", Name: strconv.Itoa(i)})
	}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		h, states := references{}, map[string]*state{}
		for range 20 {
			work, s := strconv.Itoa(random.IntN(3)), newState()
			s.wants = map[object.ID]string{}
			for range random.IntN(4) {
				s.wants[all[random.IntN(len(all))]] = "hash"
			}
			for range random.IntN(4) {
				s.entries = append(s.entries, plan.Entry{ID: all[random.IntN(len(all))]})
			}
			before := map[object.ID]bool{}
			for _, id := range all {
				before[id] = len(h.of(id)) > 0
			}
			states[work] = s
			dropped := h.set(work, s.wants, s.entries)
			for _, id := range all {
				if want := before[id] && len(h.of(id)) == 0; slices.Contains(dropped, id) != want {
					t.Fatalf("seed %d: %s is dropped: %t, want %t", seed, id, !want, want)
				}
				if diff := cmp.Diff(holdersAmong(states, id), h.of(id), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d: works of %s (-want +got):\n%s", seed, id, diff)
				}
			}
		}
		for work := range states {
			h.set(work, nil, nil)
		}
		if len(h.works) > 0 || len(h.objects) > 0 {
			t.Fatalf("seed %d: after all works have left: %v, %v", seed, h.works, h.objects)
		}
	}
}

// holdersAmong looks at every work.
func holdersAmong(states map[string]*state, id object.ID) map[string]bool {
	out := map[string]bool{}
	for name, s := range states {
		_, wanted := s.wants[id]
		for _, entry := range s.entries {
			wanted = wanted || entry.ID == id
		}
		if wanted {
			out[name] = true
		}
	}
	return out
}
