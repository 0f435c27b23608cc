package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// Verb says what a write does.
type Verb uint8

const (
	// UpdateBudget replaces the account of the disruption policy in the status of the placement, before the first cluster goes
	// that it pays for.
	UpdateBudget Verb = iota + 1
	// Create stores a new slice without the label of its placement, then its status. Readers see it once a Mark has followed.
	Create
	// UpdateDecisions replaces the status of a slice.
	UpdateDecisions
	// UpdateMetadata replaces the labels, annotations and owner of a slice.
	UpdateMetadata
	// Delete removes a slice.
	Delete
	// UpdateStatus replaces the status of the placement.
	UpdateStatus
)

// String returns the verb's name.
func (v Verb) String() string {
	switch v {
	case UpdateBudget:
		return "update-budget"
	case Create:
		return "create"
	case UpdateDecisions:
		return "update-decisions"
	case UpdateMetadata:
		return "update-metadata"
	case Delete:
		return "delete"
	default:
		return "update-status"
	}
}

// Write is one change of one stored object. Exactly one of Slice and Placement is set; it is the object as it is to
// be. Its uid and resourceVersion are those of the object that was looked at, so that the write fails if another
// came between; where an earlier write of the same plan changed the object, that write's result takes their place.
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
	// Restored are the added clusters that another client removed, sorted: it deleted or emptied their slice.
	Restored []string
	// Regrouped name the clusters that stay and had to change their decision group, sorted, and RegroupReason says why. It is
	// empty where no cluster had to.
	Regrouped     []string
	RegroupReason string
	// RecheckAt is when to make a plan again, since scores that have changed are not to be written before; zero for never.
	RecheckAt time.Time
}

// Newcomers returns the added clusters that are not restored, sorted.
func (p Plan) Newcomers() []string {
	return slices.DeleteFunc(slices.Clone(p.Added), func(name string) bool {
		_, restored := slices.BinarySearch(p.Restored, name)
		return restored
	})
}

// Empty says whether there is nothing to write.
func (p Plan) Empty() bool { return len(p.Writes) == 0 }

// Stored is what exists of a placement before the plan: the placement, and every slice that is its own by name or by
// label. All are read-only. Placement is nil where there are slices of one that is gone.
type Stored struct {
	Placement *clusterv1beta1.Placement
	Slices    []*clusterv1beta1.PlacementDecision
	// FormerUID is the uid of a deleted placement of the same name whose slices are still there; empty where there is none.
	// The garbage collector deletes them one after the other. Plans delete them at once, so that no reader sees a part for long.
	FormerUID types.UID
	// Dropped are the fields that the API server does not store. They are neither written nor compared.
	Dropped Dropped
}

// ofFormer says whether a stored slice belongs to a deleted placement of the same name.
func (s Stored) ofFormer(slice *clusterv1beta1.PlacementDecision) bool {
	controller := metav1.GetControllerOf(slice)
	return s.FormerUID != "" && controller != nil && controller.UID == s.FormerUID
}

// Diff returns the writes that make what is stored what the result says: first what pays for clusters that go, then the
// slices, then the status that reports it all. now dates what changes.
func Diff(result *engine.Result, stored Stored, now time.Time) Plan {
	d := newDiff(result, stored, now)
	out := Plan{Key: result.Key, RecheckAt: d.scoresDue}
	out.Added, out.Removed = d.moves()
	out.Restored = d.restored(out.Added)
	out.Regrouped, out.RegroupReason = d.regrouped()
	placement := stored.Placement
	if pledged, due := budgetUpdate(result, placement, stored.Dropped); due {
		placement = pledged
		out.Writes = append(out.Writes, Write{Verb: UpdateBudget, Placement: pledged})
	}
	written := d.writes()
	out.Writes = append(out.Writes, written...)
	if reported, due := statusUpdate(result, placement, now, d.writesScores(written), stored.Dropped); due {
		out.Writes = append(out.Writes, Write{Verb: UpdateStatus, Placement: reported})
	}
	return out
}
