package score

import (
	"math"
	"testing"
)

func FuzzNormalize(f *testing.F) {
	f.Add(0.5, 0.0, 1.0)
	f.Add(5.0, -math.MaxFloat64, math.MaxFloat64)
	f.Add(math.NaN(), 0.0, 1.0)
	f.Fuzz(func(t *testing.T, value, low, high float64) {
		if !Finite(low) || !Finite(high) || low >= high {
			t.Skip("no range")
		}
		score, ok := Normalize(value, low, high)
		if ok != Finite(value) || score < worst || score > best {
			t.Errorf("score of %v in %v to %v: %d %t", value, low, high, score, ok)
		}
		if more, ok := Normalize(math.Nextafter(value, math.Inf(1)), low, high); ok && more < score {
			t.Errorf("the score of %v is %d, and that of the next value %d", value, score, more)
		}
	})
}
