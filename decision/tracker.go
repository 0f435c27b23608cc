package decision

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Tracker keeps the current slices of placements from the events of one watch, and returns what changed since the last Take. It
// keeps no history. It is safe for concurrent use.
type Tracker struct {
	lock       sync.Mutex
	placements map[types.NamespacedName]*tracked
	owners     map[types.NamespacedName]types.NamespacedName // slice to placement
}

// tracked is one placement.
type tracked struct {
	slices map[string]*clusterv1beta1.PlacementDecision
	taken  Decisions
}

// NewTracker returns an empty tracker.
func NewTracker() *Tracker {
	return &Tracker{
		placements: map[types.NamespacedName]*tracked{},
		owners:     map[types.NamespacedName]types.NamespacedName{},
	}
}

// Update stores a slice that was added or changed, and returns the placements that may have changed: the placement of the slice
// and, if its label changed, the previous one. A slice without the label belongs to no placement. The tracker keeps the object,
// which must not be changed afterwards.
func (t *Tracker) Update(slice *clusterv1beta1.PlacementDecision) []types.NamespacedName {
	t.lock.Lock()
	defer t.lock.Unlock()
	id := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
	owner := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[clusterv1beta1.PlacementLabel]}
	var out []types.NamespacedName
	if before, known := t.owners[id]; known && before != owner {
		t.remove(id)
		out = append(out, before)
	}
	if owner.Name == "" {
		return out
	}
	if t.placements[owner] == nil {
		t.placements[owner] = &tracked{slices: map[string]*clusterv1beta1.PlacementDecision{}}
	}
	t.placements[owner].slices[slice.Name] = slice
	t.owners[id] = owner
	return append(out, owner)
}

// Remove removes a deleted slice, and returns its placement if it has one.
func (t *Tracker) Remove(namespace, name string) []types.NamespacedName {
	t.lock.Lock()
	defer t.lock.Unlock()
	id := types.NamespacedName{Namespace: namespace, Name: name}
	owner, known := t.owners[id]
	if !known {
		return nil
	}
	t.remove(id)
	return []types.NamespacedName{owner}
}

func (t *Tracker) remove(id types.NamespacedName) {
	delete(t.placements[t.owners[id]].slices, id.Name)
	delete(t.owners, id)
}

// Take returns the decisions of a placement, and what changed since the last Take. It removes a placement without slices.
func (t *Tracker) Take(placement types.NamespacedName) (Decisions, Change) {
	t.lock.Lock()
	defer t.lock.Unlock()
	found := t.placements[placement]
	if found == nil {
		return Decisions{}, Change{}
	}
	now := fromSlices(slices.Collect(maps.Values(found.slices)))
	change := Diff(found.taken, now)
	found.taken = now
	if len(found.slices) == 0 {
		delete(t.placements, placement)
	}
	return now, change
}

// Placements returns every placement that has slices or had some at the last Take, by namespace, then name.
func (t *Tracker) Placements() []types.NamespacedName {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.SortedFunc(maps.Keys(t.placements), func(a, b types.NamespacedName) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
}
