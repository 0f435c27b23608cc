package history

import "time"

// A revision is, from the highest bit: the time in milliseconds, a number that tells this history from others, and a
// bit that marks a partial one.
const (
	keeperBits = 20
	timeShift  = keeperBits + 1

	unit    uint64 = 1 << timeShift
	partial uint64 = 1
)

// Keeper tells histories apart. Any number will do that others are not likely to have; its low 20 bits count.
type Keeper uint32

func (k Keeper) revision(milliseconds uint64) uint64 {
	return milliseconds<<timeShift | uint64(k)<<1&(unit-1)
}

func (k Keeper) kept(revision uint64) bool {
	return revision&(unit-1)&^partial == k.revision(0)
}

func millisecondsOf(revision uint64) uint64 { return revision >> timeShift }

func milliseconds(t time.Time) uint64 {
	return uint64(max(0, t.UnixMilli()))
}
