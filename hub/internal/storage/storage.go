// Package storage decides what a hub does about the space of its database: when it compacts and defragments, and when it stops
// accepting writes.
//
// It takes values and returns a value; the caller measures and acts. The invariant: a database without space becomes read-only before
// a write fails in the middle, and accepts writes again once there is space.
package storage

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// DefragmentInterval is the shortest time between two routine defragmentations, and from the start to the first.
	DefragmentInterval = time.Hour
	// minDefragmentBytes is the size below which a database is not worth a defragmentation.
	minDefragmentBytes = 64 << 20
	// writablePercent is the part of the quota below which a database that was full accepts writes again.
	writablePercent = 90
	// writableFactor divided by two is how much more than the smallest free space a full disk must have to accept writes again.
	writableFactor = 3
)

// State is what was measured.
type State struct {
	// Size is the size of the database file, InUse the part that has data, and Quota the limit of Size.
	Size, InUse, Quota int64
	// Free is the free space of the disk, and MinFree the free space below which the database accepts no writes.
	Free, MinFree int64
	// ReadOnly is true if the database accepts no writes now.
	ReadOnly bool
	// SinceDefragment is the time since the last defragmentation, or since the start.
	SinceDefragment time.Duration
}

// Plan is what to do, in this order.
type Plan struct {
	// Compact discards the history of all objects.
	Compact bool
	// Defragment rewrites the file without its free parts.
	Defragment bool
	// Full is why the database must accept no writes; empty accepts them. After a compaction or a defragmentation, decide again first.
	Full string
}

// Decide returns what to do.
func Decide(s State) Plan {
	full := s.full()
	room := s.Free > s.InUse+s.MinFree // for the copy
	switch {
	case s.ReadOnly:
		return Plan{Compact: true, Defragment: room && s.Size-s.InUse > s.Quota/100, Full: full}
	case full != "":
		return Plan{Full: full}
	}
	return Plan{Defragment: room && s.Size >= minDefragmentBytes && s.InUse < s.Size/2 && s.SinceDefragment >= DefragmentInterval}
}

// full returns why there is no space; empty if there is. A database that is full needs more space than another one, so that it does not
// alternate.
func (s State) full() string {
	minFree, quota := s.MinFree, s.Quota
	if s.ReadOnly {
		minFree, quota = minFree*writableFactor/2, quota/100*writablePercent
	}
	switch {
	case s.Free < minFree:
		return fmt.Sprintf("its disk has %s of free space, and %s are needed; free some space", mebibytes(s.Free), mebibytes(minFree))
	case s.ReadOnly && s.Size >= quota:
		return fmt.Sprintf("it has %s of the quota of %s, of which %s are in use; delete objects, or start the hub "+
			"with a larger --database-quota",
			mebibytes(s.Size), mebibytes(s.Quota), mebibytes(s.InUse))
	default:
		return ""
	}
}

func mebibytes(bytes int64) string {
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// ParseBytes returns a number of bytes between two bounds, which may have a unit as in 8Gi.
func ParseBytes(text string, lowest, highest int64) (int64, error) {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of bytes, such as 8Gi: %w", text, err)
	}
	if bytes := quantity.Value(); bytes >= lowest && bytes <= highest {
		return bytes, nil
	}
	return 0, fmt.Errorf("%s is not between %s and %s", text, mebibytes(lowest), mebibytes(highest))
}
