package fleet

import (
	"cmp"
	"slices"
)

// Key names a placement.
type Key struct {
	Namespace, Name string
}

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Compare orders keys by namespace, then name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Slice is one PlacementDecision of a placement, as last decided.
type Slice struct {
	// Number is the n of "<placement>-decision-<n>", from 1. It is 0 if the name has another form and the object belongs
	// to the placement by its label alone.
	Number int
	// Group and GroupIndex are the decision group that the slice belongs to. GroupIndex is -1 if its label cannot be
	// read.
	Group      string
	GroupIndex int
	// Strategy is the fingerprint of the group strategy under which the slice was filled; empty if unknown.
	Strategy string
	// Clusters are the names in the slice.
	Clusters []string
}

// placementDecisions is the decisions of one placement in a snapshot. It holds IDs: names would take four times as much
// memory, and the garbage collector would follow each of them.
type placementDecisions struct {
	// slices are without their Clusters, which are in members, slice by slice.
	slices  []Slice
	members [][]uint32
	// all are the clusters of all slices.
	all IDSet
}

// withNames returns the slices with their clusters.
func (d *placementDecisions) withNames(s *Snapshot) []Slice {
	count := 0
	for _, members := range d.members {
		count += len(members)
	}
	out, names := slices.Clone(d.slices), make([]string, 0, count)
	for n, members := range d.members {
		first := len(names)
		for _, id := range members {
			names = append(names, s.Name(ID(id)))
		}
		out[n].Clusters = names[first:len(names):len(names)]
	}
	return out
}

// compare orders slices by number. Two slices can have the same number if the name of one is not the placement's. Then
// the content decides, so that the order never depends on the order of reading.
func (s Slice) compare(other Slice) int {
	return cmp.Or(cmp.Compare(s.Number, other.Number), cmp.Compare(s.GroupIndex, other.GroupIndex),
		cmp.Compare(s.Group, other.Group), cmp.Compare(s.Strategy, other.Strategy), slices.Compare(s.Clusters, other.Clusters))
}

func (s Slice) equal(other Slice) bool { return s.compare(other) == 0 }

func sortSlices(in []Slice) []Slice {
	out := slices.Clone(in)
	slices.SortFunc(out, Slice.compare)
	return out
}
