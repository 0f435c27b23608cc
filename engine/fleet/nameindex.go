package fleet

import "hash/maphash"

// nameIndex tells the name of an ID and finds the ID of a name: a hash table whose pages snapshots share. A sorted map would
// do, and take ten times as long where fleets are large: a decision that is read names thousands of clusters. No order is to
// be had from it, and where a name lies in it depends on a seed that nobody can guess.
type nameIndex struct {
	// names are by ID, "" where none has it.
	names column[string]
	seed  maphash.Seed
	// slots hold an ID and one, or 0 where they are free. A name lies at its hash or in the next free slot after it; at least
	// half of the slots are free. size, how many there are, is 0 or a power of two.
	slots column[uint32]
	size  uint
	used  uint
}

const minSlots = 64

// hashSlot is where a name would lie if it had no neighbours.
func (d *nameIndex) hashSlot(name string) uint {
	return uint(maphash.String(d.seed, name)) & (d.size - 1)
}

func (d *nameIndex) nextSlot(slot uint) uint { return (slot + 1) & (d.size - 1) }

// find returns where a name lies and its ID, or where it would lie.
func (d *nameIndex) find(name string) (slot uint, id ID, ok bool) {
	if d.size == 0 {
		return 0, 0, false
	}
	for slot = d.hashSlot(name); ; slot = d.nextSlot(slot) {
		held := d.slots.at(slot)
		if held == 0 {
			return slot, 0, false
		}
		if id = ID(held - 1); d.names.at(id) == name {
			return slot, id, true
		}
	}
}

// add adds a name that has no ID yet, and an ID that has no name.
func (d *nameIndex) add(e *Edit, name string, id ID) {
	if 2*(d.used+1) > d.size {
		d.grow(e)
	}
	slot, _, _ := d.find(name)
	d.slots.set(e, slot, uint32(id)+1) //nolint:gosec // bounded by the number of clusters
	d.names.set(e, id, name)
	d.used++
}

// grow gives the table twice as many slots.
func (d *nameIndex) grow(e *Edit) {
	old := *d
	d.size, d.slots = max(minSlots, 2*old.size), column[uint32]{}
	for slot := range old.size {
		held := old.slots.at(slot)
		if held == 0 {
			continue
		}
		free, _, _ := d.find(d.names.at(ID(held - 1)))
		d.slots.set(e, free, held)
	}
}

// remove takes out a name that is there. Those after it move up, so that they are found.
func (d *nameIndex) remove(e *Edit, name string) {
	gap, id, _ := d.find(name)
	d.names.set(e, id, "")
	for slot := d.nextSlot(gap); d.slots.at(slot) != 0; slot = d.nextSlot(slot) {
		held := d.slots.at(slot)
		home := d.hashSlot(d.names.at(ID(held - 1)))
		if (slot-home)&(d.size-1) >= (slot-gap)&(d.size-1) {
			d.slots.set(e, gap, held)
			gap = slot
		}
	}
	d.slots.set(e, gap, 0)
	d.used--
}
