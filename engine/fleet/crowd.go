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

// Crowd is a set of clusters: a sorted list of few, or a bitset of many. Most terms hold for a handful of clusters, such as
// the id that each of them claims, and as bitsets they would take as much as those that hold for all. The zero Crowd is
// nobody. It is read-only: only the edit that makes a crowd changes it.
type Crowd struct {
	few  []uint32
	many *bitset.BitSet
}

// crowd returns the crowd of some IDs, which must stay as they are from then on. It is whichever of list and bitset takes
// less.
func crowd(ids []uint32) Crowd {
	if !ascend(ids) {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	if n := len(ids); n == 0 || n*listed < int(ids[n-1]) {
		return Crowd{few: ids}
	}
	out := bitset.New(uint(ids[len(ids)-1]) + 1)
	for _, id := range ids {
		out.Set(ID(id))
	}
	return Crowd{many: out}
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
func (c Crowd) Has(id ID) bool {
	if c.many != nil {
		return c.many.Test(id)
	}
	_, found := slices.BinarySearch(c.few, uint32(id)) //nolint:gosec // bounded by the number of clusters
	return found
}

// Count returns how many clusters there are.
func (c Crowd) Count() int {
	if c.many != nil {
		return int(c.many.Count())
	}
	return len(c.few)
}

// Each yields the clusters in the order of their IDs.
func (c Crowd) Each() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		if c.many != nil {
			c.many.EachSet()(yield)
			return
		}
		for _, id := range c.few {
			if !yield(ID(id)) {
				return
			}
		}
	}
}

// Bits returns the crowd as a set that is the caller's.
func (c Crowd) Bits() *bitset.BitSet {
	if c.many != nil {
		return c.many.Clone()
	}
	out := &bitset.BitSet{}
	c.AddTo(out)
	return out
}

// AddTo adds the crowd to a set.
func (c Crowd) AddTo(set *bitset.BitSet) {
	if c.many != nil {
		set.InPlaceUnion(c.many)
		return
	}
	for _, id := range slices.Backward(c.few) { // the highest first, so that the set grows once
		set.Set(ID(id))
	}
}

// KeepIn leaves in a set only those that are in the crowd.
func (c Crowd) KeepIn(set *bitset.BitSet) {
	if c.many != nil {
		set.InPlaceIntersection(c.many)
		return
	}
	kept := make([]uint32, 0, mostFew)
	for _, id := range c.few {
		if set.Test(ID(id)) {
			kept = append(kept, id)
		}
	}
	set.ClearAll()
	for _, id := range kept {
		set.Set(ID(id))
	}
}

// DropFrom takes the crowd out of a set.
func (c Crowd) DropFrom(set *bitset.BitSet) {
	if c.many != nil {
		set.InPlaceDifference(c.many)
		return
	}
	for _, id := range c.few {
		set.Clear(ID(id))
	}
}

// clone returns a crowd that can be changed while c stays as it is.
func (c Crowd) clone() Crowd {
	if c.many != nil {
		return Crowd{many: c.many.Clone()}
	}
	return Crowd{few: slices.Clone(c.few)}
}

// add adds a cluster. One too many to be listed makes a bitset of all.
func (c *Crowd) add(id ID) {
	if c.many == nil && len(c.few) == mostFew {
		*c = Crowd{many: c.Bits()}
	}
	if c.many != nil {
		c.many.Set(id)
		return
	}
	member := uint32(id) //nolint:gosec // bounded by the number of clusters
	if at, found := slices.BinarySearch(c.few, member); !found {
		c.few = slices.Insert(c.few, at, member)
	}
}

// remove takes a cluster out. They are listed again once half as many are left as can be, and not before: one that comes
// and goes must not turn them to and fro.
func (c *Crowd) remove(id ID) {
	if c.many == nil {
		if at, found := slices.BinarySearch(c.few, uint32(id)); found { //nolint:gosec // bounded by the number of clusters
			c.few = slices.Delete(c.few, at, at+1)
		}
		return
	}
	if c.many.Clear(id).Count() > mostFew/2 {
		return
	}
	few := make([]uint32, 0, mostFew/2)
	for id := range c.many.EachSet() {
		few = append(few, uint32(id)) //nolint:gosec // bounded by the number of clusters
	}
	*c = Crowd{few: few}
}
