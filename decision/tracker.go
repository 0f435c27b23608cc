package decision

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Tracker keeps the slices of placements as the events of one watch tell of them, in the order of the events, and says
// what has changed since its owner last asked. It holds what is stored and no history. It is safe for concurrent use.
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

// NewTracker returns a tracker that knows of nothing.
func NewTracker() *Tracker {
	return &Tracker{
		placements: map[types.NamespacedName]*tracked{},
		owners:     map[types.NamespacedName]types.NamespacedName{},
	}
}

// Update notes a slice that was added or changed, and returns the placements to look at again: the one that the slice
// belongs to, and the one that it belonged to before, where its label changed. A slice without the label belongs to none.
// The tracker keeps the object, which must not be changed afterwards.
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

// Remove notes that a slice was deleted, and returns the placement to look at again, if there is one.
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

// Take returns what a placement has decided, and what changed since it was taken last. A placement of which no slice is
// left is forgotten with it.
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

// Placements returns every placement that has slices, or had some when it was last taken; by namespace, then name.
func (t *Tracker) Placements() []types.NamespacedName {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.SortedFunc(maps.Keys(t.placements), func(a, b types.NamespacedName) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
}
