package fleet

import (
	"iter"
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// mostFew is how many clusters a crowd lists at most.
const mostFew = 256

// listed is how many bits a cluster on a list takes.
const listed = 32

// IDSet is a set of clusters: a sorted list of few, or a bitset of many. Most terms hold for a handful of clusters, such as
// the id that each of them claims, and as bitsets they would take as much as those that hold for all. The zero Crowd is
// nobody. It is read-only: only the edit that makes a crowd changes it.
type IDSet struct {
	list []uint32
	bits *bitset.BitSet
}

// crowd returns the crowd of some IDs, which must stay as they are from then on. It is whichever of list and bitset takes
// less.
func crowd(ids []uint32) IDSet {
	if !ascend(ids) {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	if n := len(ids); n == 0 || n*listed < int(ids[n-1]) {
		return IDSet{list: ids}
	}
	out := bitset.New(uint(ids[len(ids)-1]) + 1)
	for _, id := range ids {
		out.Set(ID(id))
	}
	return IDSet{bits: out}
}

// ascend says whether each ID is greater than the one before.
func ascend(ids []uint32) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return false
		}
	}
	return true
}

// Has says whether a cluster is in the crowd.
func (c IDSet) Has(id ID) bool {
	if c.bits != nil {
		return c.bits.Test(id)
	}
	_, found := slices.BinarySearch(c.list, uint32(id)) //nolint:gosec // bounded by the number of clusters
	return found
}

// Count returns how many clusters there are.
func (c IDSet) Count() int {
	if c.bits != nil {
		return int(c.bits.Count())
	}
	return len(c.list)
}

// All yields the clusters in the order of their IDs.
func (c IDSet) All() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		if c.bits != nil {
			c.bits.EachSet()(yield)
			return
		}
		for _, id := range c.list {
			if !yield(ID(id)) {
				return
			}
		}
	}
}

// BitSet returns the crowd as a set that is the caller's.
func (c IDSet) BitSet() *bitset.BitSet {
	if c.bits != nil {
		return c.bits.Clone()
	}
	out := &bitset.BitSet{}
	c.AddTo(out)
	return out
}

// AddTo adds the crowd to a set.
func (c IDSet) AddTo(set *bitset.BitSet) {
	if c.bits != nil {
		set.InPlaceUnion(c.bits)
		return
	}
	for _, id := range slices.Backward(c.list) { // the highest first, so that the set grows once
		set.Set(ID(id))
	}
}

// IntersectInto leaves in a set only those that are in the crowd.
func (c IDSet) IntersectInto(set *bitset.BitSet) {
	if c.bits != nil {
		set.InPlaceIntersection(c.bits)
		return
	}
	kept := make([]uint32, 0, mostFew)
	for _, id := range c.list {
		if set.Test(ID(id)) {
			kept = append(kept, id)
		}
	}
	set.ClearAll()
	for _, id := range kept {
		set.Set(ID(id))
	}
}

// RemoveFrom takes the crowd out of a set.
func (c IDSet) RemoveFrom(set *bitset.BitSet) {
	if c.bits != nil {
		set.InPlaceDifference(c.bits)
		return
	}
	for _, id := range c.list {
		set.Clear(ID(id))
	}
}

// clone returns a crowd that can be changed while c stays as it is.
func (c IDSet) clone() IDSet {
	if c.bits != nil {
		return IDSet{bits: c.bits.Clone()}
	}
	return IDSet{list: slices.Clone(c.list)}
}

// add adds a cluster. One too many to be listed makes a bitset of all.
func (c *IDSet) add(id ID) {
	if c.bits == nil && len(c.list) == mostFew {
		*c = IDSet{bits: c.BitSet()}
	}
	if c.bits != nil {
		c.bits.Set(id)
		return
	}
	member := uint32(id) //nolint:gosec // bounded by the number of clusters
	if at, found := slices.BinarySearch(c.list, member); !found {
		c.list = slices.Insert(c.list, at, member)
	}
}

// remove takes a cluster out. They are listed again once half as many are left as can be, and not before: one that comes
// and goes must not turn them to and fro.
func (c *IDSet) remove(id ID) {
	if c.bits == nil {
		if at, found := slices.BinarySearch(c.list, uint32(id)); found { //nolint:gosec // bounded by the number of clusters
			c.list = slices.Delete(c.list, at, at+1)
		}
		return
	}
	if c.bits.Clear(id).Count() > mostFew/2 {
		return
	}
	few := make([]uint32, 0, mostFew/2)
	for id := range c.bits.EachSet() {
		few = append(few, uint32(id)) //nolint:gosec // bounded by the number of clusters
	}
	*c = IDSet{list: few}
}
