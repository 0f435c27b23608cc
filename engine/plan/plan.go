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

// Verb is what a write does.
type Verb uint8

const (
	// UpdateBudget replaces the status of the disruption policy in the placement. It comes before the removals that it charges.
	UpdateBudget Verb = iota + 1
	// Create stores a new slice without the label of its placement, then its status. Readers see it after UpdateMetadata.
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

// Write is one change of one stored object. Exactly one of Slice and Placement is set, to the new object. Its UID and
// resourceVersion are those of the object that was read, so that a concurrent write makes it fail. If an earlier write of the
// plan changed the object, they are those of that write's result.
type Write struct {
	Verb      Verb
	Slice     *clusterv1beta1.PlacementDecision
	Placement *clusterv1beta1.Placement
}

// Plan is an ordered list of writes. Applying stops at the first write that fails.
type Plan struct {
	Key    fleet.Key
	Writes []Write
	// Added and Removed are the clusters that differ from the stored ones, sorted.
	Added, Removed []string
	// Restored are the added clusters that another client removed, sorted: it deleted or emptied their slice.
	Restored []string
	// Regrouped are the clusters that stay and had to change their decision group, sorted. RegroupReason is empty if there are
	// none.
	Regrouped     []string
	RegroupReason string
	// RecheckAt is when to plan again, because changed scores are not to be written before; zero for never.
	RecheckAt time.Time
}

// Newcomers returns the added clusters that are not restored, sorted.
func (p Plan) Newcomers() []string {
	return slices.DeleteFunc(slices.Clone(p.Added), func(name string) bool {
		_, restored := slices.BinarySearch(p.Restored, name)
		return restored
	})
}

// Empty reports whether there is nothing to write.
func (p Plan) Empty() bool { return len(p.Writes) == 0 }

// Stored has the stored objects of a placement: the placement, and every slice that belongs to it by name or by label. All are
// read-only. Placement is nil if only slices are left.
type Stored struct {
	Placement *clusterv1beta1.Placement
	Slices    []*clusterv1beta1.PlacementDecision
	// FormerUID is the UID of a deleted placement of the same name that still has slices; empty without such slices. The
	// garbage collector deletes them one by one. A plan deletes them first, so that readers see a part of them only for a
	// moment.
	FormerUID types.UID
	// Dropped are the fields that the API server does not store. They are neither written nor compared.
	Dropped Dropped
}

// ofFormer reports whether a stored slice belongs to a deleted placement of the same name.
func (s Stored) ofFormer(slice *clusterv1beta1.PlacementDecision) bool {
	controller := metav1.GetControllerOf(slice)
	return s.FormerUID != "" && controller != nil && controller.UID == s.FormerUID
}

// Diff returns the writes that store a result: first the budget that its removals are charged to, then the slices, then the
// status. now is the time of changes.
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
