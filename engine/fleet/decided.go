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
	// Number is the n of "<placement>-decision-<n>", from 1.
	Number int
	// Group and GroupIndex are the decision group that the slice belongs to. GroupIndex is -1 where its label cannot
	// be read.
	Group      string
	GroupIndex int
	// Strategy is the fingerprint of the group strategy under which the slice was filled; empty where unknown.
	Strategy string
	// Clusters are the names in the slice.
	Clusters []string
}

// decided is the decisions of one placement in a snapshot. IDs is sorted and distinct.
type decided struct {
	slices []Slice
	ids    []ID
}

func sortSlices(in []Slice) []Slice {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Slice) int { return cmp.Compare(a.Number, b.Number) })
	return out
}
