package decision

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// NoIndex is the index of a group whose slices have no valid index. Such groups come after all others.
const NoIndex = -1

// GroupKey identifies a decision group. Indexes are unique unless the Decisions are inconsistent; names need not be.
type GroupKey struct {
	// Index is the position of the group, from 0, or NoIndex.
	Index int
	// Name is empty for a group without a name.
	Name string
}

// Compare orders keys by index, then name. NoIndex, the largest unsigned number, comes last.
func (k GroupKey) Compare(other GroupKey) int {
	return cmp.Or(cmp.Compare(uint(k.Index), uint(other.Index)), cmp.Compare(k.Name, other.Name))
}

// String returns the index, with the name if there is one: "0 (canary)".
func (k GroupKey) String() string {
	index := "without an index"
	if k.Index != NoIndex {
		index = strconv.Itoa(k.Index)
	}
	if k.Name == "" {
		return index
	}
	return index + " (" + k.Name + ")"
}

// Group has the clusters of one decision group.
type Group struct {
	GroupKey

	// Clusters are sorted, each once.
	Clusters []string
}

// Decisions has the decisions of a placement at the time of a reading. It is immutable; its zero value has no group.
type Decisions struct {
	groups          []Group
	groupIndex      map[string]int // cluster to position in groups
	sliceNames      []string       // names, sorted
	inconsistencies []Inconsistency
}

// Of returns the Decisions of the slices of one placement.
func Of(slices ...*clusterv1beta1.PlacementDecision) Decisions {
	return fromSlices(slices)
}

// OfList returns the Decisions of a list of slices of one placement.
func OfList(list *clusterv1beta1.PlacementDecisionList) Decisions {
	pointers := make([]*clusterv1beta1.PlacementDecision, 0, len(list.Items))
	for i := range list.Items {
		pointers = append(pointers, &list.Items[i])
	}
	return fromSlices(pointers)
}

func fromSlices(objects []*clusterv1beta1.PlacementDecision) Decisions {
	sorted := slices.SortedFunc(slices.Values(objects), func(a, b *clusterv1beta1.PlacementDecision) int {
		return cmp.Or(keyOf(a).Compare(keyOf(b)), cmp.Compare(a.Name, b.Name))
	})
	out := Decisions{groupIndex: map[string]int{}, inconsistencies: inconsistenciesOf(sorted)}
	for _, slice := range sorted {
		out.sliceNames = append(out.sliceNames, slice.Name)
		key := keyOf(slice)
		if last := len(out.groups) - 1; last < 0 || out.groups[last].GroupKey != key {
			out.groups = append(out.groups, Group{GroupKey: key})
		}
		position := len(out.groups) - 1
		group := &out.groups[position]
		for _, decided := range slice.Status.Decisions {
			if _, known := out.groupIndex[decided.ClusterName]; known || decided.ClusterName == "" {
				continue
			}
			out.groupIndex[decided.ClusterName] = position
			group.Clusters = append(group.Clusters, decided.ClusterName)
		}
	}
	for i := range out.groups {
		slices.Sort(out.groups[i].Clusters)
	}
	slices.Sort(out.sliceNames)
	return out
}

// keyOf returns the group of a slice.
func keyOf(slice *clusterv1beta1.PlacementDecision) GroupKey {
	key := GroupKey{Index: NoIndex, Name: slice.Labels[clusterv1beta1.DecisionGroupNameLabel]}
	if index, err := strconv.Atoi(slice.Labels[clusterv1beta1.DecisionGroupIndexLabel]); err == nil && index >= 0 {
		key.Index = index
	}
	return key
}

// Len returns how many clusters are selected.
func (d Decisions) Len() int { return len(d.groupIndex) }

// Has reports whether a cluster is selected.
func (d Decisions) Has(cluster string) bool {
	_, found := d.groupIndex[cluster]
	return found
}

// GroupOf returns the group of a cluster. Ok is false if the cluster is not selected.
func (d Decisions) GroupOf(cluster string) (key GroupKey, ok bool) {
	position, ok := d.groupIndex[cluster]
	if !ok {
		return GroupKey{Index: NoIndex}, false
	}
	return d.groups[position].GroupKey, true
}

// Groups returns every group, by index, then name, including groups without clusters. The caller owns the result.
func (d Decisions) Groups() []Group {
	out := make([]Group, 0, len(d.groups))
	for _, group := range d.groups {
		out = append(out, Group{group.GroupKey, slices.Clone(group.Clusters)})
	}
	return out
}

// Group returns the group at an index. Ok is false if the index has no group.
func (d Decisions) Group(index int) (group Group, ok bool) {
	for _, group := range d.groups {
		if group.Index == index {
			return Group{group.GroupKey, slices.Clone(group.Clusters)}, true
		}
	}
	return Group{GroupKey: GroupKey{Index: NoIndex}}, false
}

// ByGroupName returns the groups with a name, by index.
func (d Decisions) ByGroupName(name string) []Group {
	return slices.DeleteFunc(d.Groups(), func(group Group) bool { return group.Name != name })
}

// ClusterNames yields every cluster, sorted.
func (d Decisions) ClusterNames() iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(d.groupIndex)))
}

// Clusters yields every cluster with its group: groups by index, the clusters of a group sorted.
func (d Decisions) Clusters() iter.Seq2[GroupKey, string] {
	return func(yield func(GroupKey, string) bool) {
		for _, group := range d.groups {
			for _, cluster := range group.Clusters {
				if !yield(group.GroupKey, cluster) {
					return
				}
			}
		}
	}
}
