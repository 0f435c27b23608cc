package fleet

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/bits-and-blooms/bitset"
)

// maxSingly is the size below which a set is applied to a bitset ID by ID, and not through a bitset of its own.
const maxSingly = 256

// IDSet is a compressed set of cluster IDs. Most terms hold for a few clusters, and a bitset of each would be as large as
// the fleet. The zero IDSet is empty. It is read-only outside the edit that made it.
type IDSet struct{ bitmap *roaring.Bitmap }

// newIDSet returns the set of some IDs, in any order.
func newIDSet(ids []uint32) IDSet {
	if len(ids) == 0 {
		return IDSet{}
	}
	return IDSet{roaring.BitmapOf(ids...)}
}

// Has reports whether a cluster is in the set.
func (s IDSet) Has(id ID) bool {
	return s.bitmap != nil && s.bitmap.Contains(uint32(id)) //nolint:gosec // bounded by the number of clusters
}

// Count returns the number of clusters.
func (s IDSet) Count() int {
	if s.bitmap == nil {
		return 0
	}
	return int(s.bitmap.GetCardinality()) //nolint:gosec // bounded by the number of clusters
}

// All yields the clusters in the order of their IDs.
func (s IDSet) All() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		if s.bitmap != nil {
			s.bitmap.Iterate(func(id uint32) bool { return yield(ID(id)) })
		}
	}
}

// BitSet returns the set as a new bitset, which belongs to the caller.
func (s IDSet) BitSet() *bitset.BitSet {
	if s.bitmap == nil {
		return &bitset.BitSet{}
	}
	return bitset.From(s.bitmap.ToDense())
}

// AddTo adds the set to a bitset.
func (s IDSet) AddTo(set *bitset.BitSet) {
	if s.Count() >= maxSingly {
		set.InPlaceUnion(s.BitSet())
		return
	}
	for id := range s.All() {
		set.Set(id)
	}
}

// IntersectInto removes from a bitset the clusters that are not in the set.
func (s IDSet) IntersectInto(set *bitset.BitSet) { set.InPlaceIntersection(s.BitSet()) }

// RemoveFrom removes the set from a bitset.
func (s IDSet) RemoveFrom(set *bitset.BitSet) {
	if s.Count() >= maxSingly {
		set.InPlaceDifference(s.BitSet())
		return
	}
	for id := range s.All() {
		set.Clear(id)
	}
}

// union adds another set to s, which the caller owns.
func (s *IDSet) union(other IDSet) {
	switch {
	case other.bitmap == nil:
	case s.bitmap == nil:
		*s = other.clone()
	default:
		s.bitmap.Or(other.bitmap)
	}
}

// clone returns a copy that can be changed.
func (s IDSet) clone() IDSet {
	if s.bitmap == nil {
		return s
	}
	return IDSet{s.bitmap.Clone()}
}

func (s *IDSet) add(id ID) {
	if s.bitmap == nil {
		s.bitmap = roaring.New()
	}
	s.bitmap.Add(uint32(id)) //nolint:gosec // bounded by the number of clusters
}

func (s *IDSet) remove(id ID) {
	if s.bitmap != nil {
		s.bitmap.Remove(uint32(id)) //nolint:gosec // bounded by the number of clusters
	}
}
