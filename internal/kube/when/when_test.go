package when_test

import (
	"testing"
	"time"

	"github.com/berth-project/berth/internal/kube/when"
)

func TestZeroMeansNever(t *testing.T) {
	never, noon := time.Time{}, time.Unix(43200, 0)
	one := noon.Add(time.Hour)
	for name, c := range map[string]struct{ got, want time.Time }{
		"none":             {when.Earliest(), never},
		"never":            {when.Earliest(never, never), never},
		"one of two":       {when.Earliest(never, one), one},
		"the first":        {when.Earliest(one, never, noon), noon},
		"not after":        {when.NotAfter(one, noon), noon},
		"before the limit": {when.NotAfter(noon, one), noon},
		"never is kept":    {when.NotAfter(never, one), never},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %s, not %s", name, c.got, c.want)
		}
	}
	for name, c := range map[string]struct{ got, want time.Duration }{
		"none":       {when.Shortest(), 0},
		"never":      {when.Shortest(0, -1), 0},
		"the first":  {when.Shortest(0, 3, 2), 2},
		"one of two": {when.Shortest(5, 0), 5},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, not %s", name, c.got, c.want)
		}
	}
}
