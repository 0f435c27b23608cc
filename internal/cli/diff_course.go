package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
	"github.com/berth-project/berth/internal/source/file"
)

// maxRounds is how often the placements that moved are decided again. A decision confirms itself, so the second round moves
// hardly ever anybody.
const maxRounds = 10

// storedPlacement is a placement with its decisions, as they are stored. It is replaced, never changed.
type storedPlacement struct {
	placement *clusterv1beta1.Placement
	slices    []*clusterv1beta1.PlacementDecision
	// program is nil where the placement does not compile; faults then say why.
	program *program.Program
	faults  field.ErrorList
}

// placementSimulation is a fleet and its placements on their way to where nothing moves.
type placementSimulation struct {
	snapshot   *fleet.Snapshot
	placements map[fleet.Key]*storedPlacement
	// order is that of the seats: placements are decided one after the other and see each other.
	order []fleet.Key
	// index tells which placements a change can touch.
	index    *wake.Index
	progress *progress
}

func newSimulation(bundle *file.Bundle, now time.Time, progress *progress) *placementSimulation {
	out := &placementSimulation{snapshot: bundle.Snapshot(now), placements: map[fleet.Key]*storedPlacement{}, index: wake.NewIndex(), progress: progress}
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		out.placements[key] = &storedPlacement{placement, bundle.Decisions[key], bundle.Programs[key], bundle.Faults[key]}
		out.index.Put(out.snapshot, key, bundle.Programs[key])
	}
	out.reorder()
	return out
}

func (c *placementSimulation) reorder() {
	c.order = slices.SortedFunc(maps.Keys(c.placements), fleet.Key.Compare)
}

// clone returns a course that starts where this one is. It takes the index with it: this one makes no more changes.
func (c *placementSimulation) clone() *placementSimulation {
	out := *c
	out.placements = maps.Clone(c.placements)
	return &out
}

// evaluate decides a placement as things are; nil where the manager leaves it alone.
func (c *placementSimulation) evaluate(key fleet.Key) *engine.Result {
	at := c.placements[key]
	if at == nil || skipReason(at.placement) != "" {
		return nil
	}
	return engine.Decide(c.snapshot, key, at.program, at.faults, plan.ReadLedger(at.placement))
}

// stabilize decides some placements, in order, and those that moved again, until none does. Others are not woken by that, as
// the manager does not wake them.
func (c *placementSimulation) stabilize(keys []fleet.Key) {
	for range maxRounds {
		var moved []fleet.Key
		for i, key := range keys {
			if i%16 == 0 {
				c.progress.update(fmt.Sprintf("and deciding %s", count(len(keys), "placement")), i)
			}
			if c.decide(key) {
				moved = append(moved, key)
			}
		}
		if keys = moved; len(keys) == 0 {
			return
		}
	}
}

// decide decides a placement, stores that, and says whether any decision has moved.
func (c *placementSimulation) decide(key fleet.Key) (moved bool) {
	result := c.evaluate(key)
	if result == nil {
		return false
	}
	at := c.placements[key]
	made := decision{key: key, placement: at.placement, slices: at.slices, result: result}
	made.store(c.snapshot.Now)
	c.placements[key] = &storedPlacement{made.placement, made.slices, at.program, at.faults}
	if len(made.plan.Writes) == 0 {
		return false
	}
	edit := c.snapshot.Edit()
	edit.SetSlices(key, result.Slices())
	c.snapshot = edit.Snapshot()
	return true
}
