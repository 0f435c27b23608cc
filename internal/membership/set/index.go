package set

import (
	"slices"
	"sync"

	"github.com/bits-and-blooms/bitset"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
)

// index holds the labels of all clusters and the selectors of all sets, so that counting members and handling a changed cluster need no
// full scan. Without it, a start would compare each of 2,000 sets with each of 10,000 clusters.
type index struct {
	mu sync.Mutex
	// synced is set once every cluster and every set is in the index. Until then a cluster enqueues no set: each set is enqueued by
	// its own first event.
	synced bool
	// edit holds the changes since the snapshot; nil without a change.
	edit     *fleet.Edit
	snapshot *fleet.Snapshot
	sets     map[string]*setEntry
	// byTerm are the sets that read a term, claims those that claim a label for themselves.
	byTerm  map[fleet.Term]sets.Set[string]
	byLabel map[label]sets.Set[string]
}

// setEntry is a set as it was last seen.
type setEntry struct {
	compiled  *fleet.Set
	claimed   label
	exclusive bool
}

func newIndex() *index {
	return &index{
		snapshot: fleet.Empty(), sets: map[string]*setEntry{},
		byTerm: map[fleet.Term]sets.Set[string]{}, byLabel: map[label]sets.Set[string]{},
	}
}

// setCluster records a cluster, and returns the sets that it joins or leaves by that, sorted.
func (x *index) setCluster(object *clusterv1.ManagedCluster) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	after := fleet.NewClusterFromLabels(object)
	return x.affectedSets(x.editing().SetCluster(after), after)
}

// deleteCluster records that a cluster is gone, and returns the sets that it was in, sorted.
func (x *index) deleteCluster(name string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.affectedSets(x.editing().DeleteCluster(name), nil)
}

// markSynced ends the filling of the index.
func (x *index) markSynced() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.synced = true
}

// affectedSets returns the sets that only one of two states of a cluster is in. Either may be nil.
func (x *index) affectedSets(before, after *fleet.Cluster) []string {
	if !x.synced {
		return nil
	}
	out := sets.New[string]()
	for _, term := range fleet.ChangedTerms(before, after) {
		for name := range x.byTerm[term] {
			set := x.sets[name].compiled
			if (before != nil && set.Has(before)) != (after != nil && set.Has(after)) {
				out.Insert(name)
			}
		}
	}
	return sets.List(out)
}

// editing returns the open edit.
func (x *index) editing() *fleet.Edit {
	if x.edit == nil {
		x.edit = x.snapshot.Edit()
	}
	return x.edit
}

// setSet records a set, and returns the others that claim a label which it claims or has claimed so far, sorted.
func (x *index) setSet(object *clusterv1beta2.ManagedClusterSet) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.removeSet(object.Name)
	set := &setEntry{compiled: fleet.NewSet(object)}
	set.claimed, set.exclusive = fleet.ExclusiveLabel(object)
	x.sets[object.Name] = set
	for _, term := range set.compiled.DependsOn() {
		insert(x.byTerm, term, object.Name)
	}
	if set.exclusive {
		out.Insert(sets.List(x.byLabel[set.claimed])...)
		insert(x.byLabel, set.claimed, object.Name)
	}
	return sets.List(out)
}

// deleteSet records that a set is gone, and returns the others that claim the label that it claimed, sorted.
func (x *index) deleteSet(name string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return sets.List(x.removeSet(name))
}

// removeSet takes a set out, and returns the others that claim the label that it claimed.
func (x *index) removeSet(name string) sets.Set[string] {
	set, ok := x.sets[name]
	if !ok {
		return sets.New[string]()
	}
	delete(x.sets, name)
	for _, term := range set.compiled.DependsOn() {
		remove(x.byTerm, term, name)
	}
	if !set.exclusive {
		return sets.New[string]()
	}
	remove(x.byLabel, set.claimed, name)
	return x.byLabel[set.claimed].Clone()
}

// members counts the clusters of a set.
func (x *index) members(set *fleet.Set) int {
	x.mu.Lock()
	if x.edit != nil {
		x.snapshot, x.edit = x.edit.Snapshot(), nil
	}
	snapshot := x.snapshot
	x.mu.Unlock()
	in := bitset.New(snapshot.IDLimit())
	set.AddMembers(snapshot, in)
	return int(in.Count())
}

// conflicting returns the other sets that claim the same exclusive label, sorted.
func (x *index) conflicting(set *clusterv1beta2.ManagedClusterSet) []string {
	claimed, exclusive := fleet.ExclusiveLabel(set)
	if !exclusive {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(sets.List(x.byLabel[claimed]), func(name string) bool { return name == set.Name })
}

func insert[K comparable](in map[K]sets.Set[string], key K, name string) {
	if in[key] == nil {
		in[key] = sets.New[string]()
	}
	in[key].Insert(name)
}

func remove[K comparable](in map[K]sets.Set[string], key K, name string) {
	if in[key].Delete(name); in[key].Len() == 0 {
		delete(in, key)
	}
}
