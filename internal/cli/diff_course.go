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
	"github.com/berth-project/berth/internal/source/file"
)

// maxRounds is how often the placements that moved are decided again. A decision confirms itself, so the second round moves
// hardly ever anybody.
const maxRounds = 10

// seat is a placement with its decisions, as they are stored. It is replaced, never changed.
type seat struct {
	placement *clusterv1beta1.Placement
	slices    []*clusterv1beta1.PlacementDecision
	// program is nil where the placement does not compile; faults then say why.
	program *program.Program
	faults  field.ErrorList
}

// course is a fleet and its placements on their way to where nothing moves.
type course struct {
	snapshot *fleet.Snapshot
	seats    map[fleet.Key]*seat
	// order is that of the seats: placements are decided one after the other and see each other.
	order []fleet.Key
	// index tells which placements a change can touch.
	index    *program.Index
	progress *progress
}

func newCourse(bundle *file.Bundle, now time.Time, progress *progress) *course {
	out := &course{snapshot: bundle.Snapshot(now), seats: map[fleet.Key]*seat{}, index: program.NewIndex(), progress: progress}
	for _, placement := range bundle.Placements {
		key := file.KeyOf(placement)
		out.seats[key] = &seat{placement, bundle.Decisions[key], bundle.Programs[key], bundle.Faults[key]}
		out.index.Put(out.snapshot, key, bundle.Programs[key])
	}
	out.reorder()
	return out
}

func (c *course) reorder() { c.order = slices.SortedFunc(maps.Keys(c.seats), fleet.Key.Compare) }

// fork returns a course that starts where this one is. It takes the index with it: this one makes no more changes.
func (c *course) fork() *course {
	out := *c
	out.seats = maps.Clone(c.seats)
	return &out
}

// run decides a placement as things are; nil where the manager leaves it alone.
func (c *course) run(key fleet.Key) *engine.Result {
	at := c.seats[key]
	if at == nil || idle(at.placement) != "" {
		return nil
	}
	return engine.Decide(c.snapshot, key, at.program, at.faults, plan.ReadLedger(at.placement))
}

// settle decides some placements, in order, and those that moved again, until none does. Others are not woken by that, as
// the manager does not wake them.
func (c *course) settle(keys []fleet.Key) {
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
func (c *course) decide(key fleet.Key) (moved bool) {
	result := c.run(key)
	if result == nil {
		return false
	}
	at := c.seats[key]
	made := decision{key: key, placement: at.placement, slices: at.slices, result: result}
	made.store(c.snapshot.Now)
	c.seats[key] = &seat{made.placement, made.slices, at.program, at.faults}
	if len(made.plan.Writes) == 0 {
		return false
	}
	edit := c.snapshot.Edit()
	edit.SetSlices(key, result.Slices())
	c.snapshot = edit.Snapshot()
	return true
}
