package plan

import (
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// Verb says what a write does.
type Verb uint8

const (
	// Create stores a new slice, metadata and status.
	Create Verb = iota + 1
	// Fill replaces the status of a slice.
	Fill
	// Mark replaces the labels, annotations and owner of a slice.
	Mark
	// Delete removes a slice.
	Delete
	// Report replaces the status of the placement.
	Report
)

// String returns the verb's name.
func (v Verb) String() string {
	switch v {
	case Create:
		return "create"
	case Fill:
		return "fill"
	case Mark:
		return "mark"
	case Delete:
		return "delete"
	default:
		return "report"
	}
}

// Write is one change of one stored object. Exactly one of Slice and Placement is set; it is the object as it is to
// be. Its uid and resourceVersion are those of the object that was looked at, so that the write fails if another
// came between; where an earlier write of the same plan changed the slice, that write's result takes their place.
type Write struct {
	Verb      Verb
	Slice     *clusterv1beta1.PlacementDecision
	Placement *clusterv1beta1.Placement
}

// Plan is an ordered list of writes. Applying stops at the first that fails.
type Plan struct {
	Key    fleet.Key
	Writes []Write
	// Added and Removed name the clusters that come and go, sorted, held against what was stored.
	Added, Removed []string
}

// Empty says whether there is nothing to write.
func (p Plan) Empty() bool { return len(p.Writes) == 0 }

// Stored is what exists of a placement before the plan: the placement, and every slice that is its own by name or by
// label. All are read-only.
type Stored struct {
	Placement *clusterv1beta1.Placement
	Slices    []*clusterv1beta1.PlacementDecision
}

// Diff returns the writes that make what is stored what the result says. now dates the conditions that change.
func Diff(result *engine.Result, stored Stored, now time.Time) Plan {
	d := newDiff(result, stored)
	out := Plan{Key: result.Key, Writes: d.writes()}
	out.Added, out.Removed = d.moves()
	if placement, changed := report(result, stored.Placement, now); changed {
		out.Writes = append(out.Writes, Write{Verb: Report, Placement: placement})
	}
	return out
}
