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
func (i IDSet) Has(id ID) bool {
	return i.bitmap != nil && i.bitmap.Contains(uint32(id)) //nolint:gosec // bounded by the number of clusters
}

// Count returns the number of clusters.
func (i IDSet) Count() int {
	if i.bitmap == nil {
		return 0
	}
	return int(i.bitmap.GetCardinality()) //nolint:gosec // bounded by the number of clusters
}

// All yields the clusters in the order of their IDs.
func (i IDSet) All() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		if i.bitmap != nil {
			i.bitmap.Iterate(func(id uint32) bool { return yield(ID(id)) })
		}
	}
}

// BitSet returns the set as a new bitset, which belongs to the caller.
func (i IDSet) BitSet() *bitset.BitSet {
	if i.bitmap == nil {
		return &bitset.BitSet{}
	}
	return bitset.From(i.bitmap.ToDense())
}

// AddTo adds the set to a bitset.
func (i IDSet) AddTo(set *bitset.BitSet) {
	if i.Count() >= maxSingly {
		set.InPlaceUnion(i.BitSet())
		return
	}
	for id := range i.All() {
		set.Set(id)
	}
}

// IntersectInto removes from a bitset the clusters that are not in the set.
func (i IDSet) IntersectInto(set *bitset.BitSet) { set.InPlaceIntersection(i.BitSet()) }

// RemoveFrom removes the set from a bitset.
func (i IDSet) RemoveFrom(set *bitset.BitSet) {
	if i.Count() >= maxSingly {
		set.InPlaceDifference(i.BitSet())
		return
	}
	for id := range i.All() {
		set.Clear(id)
	}
}

// union adds another set to s, which the caller owns.
func (i *IDSet) union(other IDSet) {
	switch {
	case other.bitmap == nil:
	case i.bitmap == nil:
		*i = other.clone()
	default:
		i.bitmap.Or(other.bitmap)
	}
}

// clone returns a copy that can be changed.
func (i IDSet) clone() IDSet {
	if i.bitmap == nil {
		return i
	}
	return IDSet{i.bitmap.Clone()}
}

func (i *IDSet) add(id ID) {
	if i.bitmap == nil {
		i.bitmap = roaring.New()
	}
	i.bitmap.Add(uint32(id)) //nolint:gosec // bounded by the number of clusters
}

func (i *IDSet) remove(id ID) {
	if i.bitmap != nil {
		i.bitmap.Remove(uint32(id)) //nolint:gosec // bounded by the number of clusters
	}
}
