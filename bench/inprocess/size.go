package inprocess

import "fmt"

// Size is the number of clusters and placements of one run.
type Size struct{ Clusters, Placements int }

// String returns the size as in the names of runs, such as "1000x10000".
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Clusters, s.Placements) }

// work is how many pairs of a cluster and a placement there are.
func (s Size) work() float64 { return float64(s.Clusters) * float64(s.Placements) }

// Sizes returns the measured sizes, small ones first.
func Sizes() []Size {
	return []Size{{1_000, 10_000}, {10_000, 10_000}, {100_000, 10_000}, {1_000, 100_000}, {10_000, 100_000}, {100_000, 100_000}}
}

// Largest is the size whose time is compared with Yardstick, to report the growth.
func Largest() Size { return Size{100_000, 100_000} }

// Yardstick is the size with which the time of the largest size is compared.
func Yardstick() Size { return Size{10_000, 10_000} }
