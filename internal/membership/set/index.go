package set

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/suggest"
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
	// compiled is the set by the selector in effect, wanted by that of the spec.
	compiled, wanted *fleet.Set

	claimed   label
	exclusive bool
	// held is whether the set reports that its selector is held.
	held bool
}

// dependsOn returns the terms whose change on a cluster can change whether it is a member, or would be one by the spec.
func (s *setEntry) dependsOn() []fleet.Term {
	return slices.Concat(s.compiled.DependsOn(), s.wanted.DependsOn())
}

func newIndex() *index {
	return &index{
		snapshot: fleet.Empty(), sets: map[string]*setEntry{},
		byTerm: map[fleet.Term]sets.Set[string]{}, byLabel: map[label]sets.Set[string]{},
	}
}

// setCluster records a cluster, and returns the sets that it joins or leaves by that, sorted.
func (i *index) setCluster(object *clusterv1.ManagedCluster) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	after := fleet.NewClusterFromLabels(object)
	return i.affectedSets(i.editing().SetCluster(after), after)
}

// deleteCluster records that a cluster is gone, and returns the sets that it was in, sorted.
func (i *index) deleteCluster(name string) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.affectedSets(i.editing().DeleteCluster(name), nil)
}

// markSynced ends the filling of the index.
func (i *index) markSynced() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
}

// affectedSets returns the sets that only one of two states of a cluster is in. Either may be nil.
func (i *index) affectedSets(before, after *fleet.Cluster) []string {
	if !i.synced {
		return nil
	}
	out := sets.New[string]()
	for _, term := range fleet.ChangedTerms(before, after) {
		for name := range i.byTerm[term] {
			if set := i.sets[name]; differ(set.compiled, before, after) || differ(set.wanted, before, after) {
				out.Insert(name)
			}
		}
	}
	return sets.List(out)
}

// differ reports whether a cluster joins or leaves a set.
func differ(set *fleet.Set, before, after *fleet.Cluster) bool {
	return (before != nil && set.Has(before)) != (after != nil && set.Has(after))
}

// editing returns the open edit.
func (i *index) editing() *fleet.Edit {
	if i.edit == nil {
		i.edit = i.snapshot.Edit()
	}
	return i.edit
}

// setSet records a set, and returns the others that claim a label which it claims or has claimed so far, sorted.
func (i *index) setSet(object *clusterv1beta2.ManagedClusterSet) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := i.removeSet(object.Name)
	set := &setEntry{compiled: fleet.NewSet(object), wanted: fleet.SetOfSpec(object), held: selectorHeld(object)}
	set.claimed, set.exclusive = set.compiled.ExclusiveLabel()
	i.sets[object.Name] = set
	for _, term := range set.dependsOn() {
		insert(i.byTerm, term, object.Name)
	}
	if set.exclusive {
		out.Insert(sets.List(i.byLabel[set.claimed])...)
		insert(i.byLabel, set.claimed, object.Name)
	}
	return sets.List(out)
}

// deleteSet records that a set is gone, and returns the others that claim the label that it claimed, sorted.
func (i *index) deleteSet(name string) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return sets.List(i.removeSet(name))
}

// removeSet takes a set out, and returns the others that claim the label that it claimed.
func (i *index) removeSet(name string) sets.Set[string] {
	set, ok := i.sets[name]
	if !ok {
		return sets.New[string]()
	}
	delete(i.sets, name)
	for _, term := range set.dependsOn() {
		remove(i.byTerm, term, name)
	}
	if !set.exclusive {
		return sets.New[string]()
	}
	remove(i.byLabel, set.claimed, name)
	return i.byLabel[set.claimed].Clone()
}

// current returns the clusters as of now.
func (i *index) current() *fleet.Snapshot {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.edit != nil {
		i.snapshot, i.edit = i.edit.Snapshot(), nil
	}
	return i.snapshot
}

// members counts the clusters of a set.
func (i *index) members(set *fleet.Set) int {
	return set.Count(i.current())
}

// unknown returns the label keys that a set requires and no cluster has, each with the nearest key that clusters have.
func (i *index) unknown(set *fleet.Set) []string {
	snapshot := i.current()
	selector, _ := set.Selector()
	have := map[string]int{}
	for _, cluster := range snapshot.Clusters() {
		for key := range cluster.Object.Labels {
			have[key]++
		}
	}
	var out []string
	for _, requirement := range selector {
		positive := requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpExists
		if !positive || have[requirement.Key] > 0 {
			continue
		}
		text := fmt.Sprintf("no cluster has the label %q", requirement.Key)
		if near := suggest.Nearest(requirement.Key, slices.Sorted(maps.Keys(have))); near != "" {
			text += fmt.Sprintf(" (%d have %q)", have[near], near)
		}
		out = append(out, text)
	}
	return out
}

// held counts the sets whose selector is held.
func (i *index) held() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := 0
	for _, set := range i.sets {
		if set.held {
			out++
		}
	}
	return out
}

// conflicting returns the other sets that claim the same exclusive label, sorted.
func (i *index) conflicting(set *clusterv1beta2.ManagedClusterSet) []string {
	claimed, exclusive := fleet.NewSet(set).ExclusiveLabel()
	if !exclusive {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.DeleteFunc(sets.List(i.byLabel[claimed]), func(name string) bool { return name == set.Name })
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
