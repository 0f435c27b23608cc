package inprocess

import "fmt"

// Size is how much one run decides.
type Size struct{ Clusters, Placements int }

// String returns the size as names of runs have it, such as "1000x10000".
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Clusters, s.Placements) }

// work is how many pairs of a cluster and a placement there are.
func (s Size) work() float64 { return float64(s.Clusters) * float64(s.Placements) }

// Sizes returns the sizes that are measured, small ones first.
func Sizes() []Size {
	return []Size{{1_000, 10_000}, {10_000, 10_000}, {100_000, 10_000}, {1_000, 100_000}, {10_000, 100_000}, {100_000, 100_000}}
}

// Largest is the size that is measured beside Yardstick, to say how the time grows between them.
func Largest() Size { return Size{100_000, 100_000} }

// Yardstick is the size that the time of the largest one is measured by.
func Yardstick() Size { return Size{10_000, 10_000} }
