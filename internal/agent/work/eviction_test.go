package work

import (
	"testing"
	"time"
)

func TestTheBrakeHoldsWhereAHubHasLostItsWorks(t *testing.T) {
	for sentence, test := range map[string]struct {
		missing, all int
		want         bool
	}{
		"one of a hundred":        {1, 100, false},
		"one of two":              {1, 2, false},
		"three of four":           {3, 4, false},
		"twenty of a hundred":     {20, 100, false},
		"more than a fifth":       {21, 100, true},
		"four of ten":             {4, 10, true},
		"all of a hundred":        {100, 100, true},
		"the only one":            {1, 1, true},
		"four of a large cluster": {4, 1000, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := brakes(test.missing, test.all); got != test.want {
				t.Errorf("brakes(%d, %d) = %t, want %t", test.missing, test.all, got, test.want)
			}
		})
	}
}

// TestTheGraceCountsFromWhatThisProcessRead restarts the agent long after a work was lost, as a stored start would count.
func TestTheGraceCountsFromWhatThisProcessRead(t *testing.T) {
	s, now := newState(), time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	want := now.Add(time.Hour)
	for _, later := range []time.Duration{0, time.Minute, 59 * time.Minute} {
		if got := s.evictAt(now.Add(later), time.Hour); !got.Equal(want) {
			t.Errorf("after %s the record may be evicted at %s, want %s", later, got, want)
		}
	}
	s.missing = time.Time{} // the hub had the work again
	if got := s.evictAt(now.Add(2*time.Hour), time.Hour); !got.Equal(now.Add(3 * time.Hour)) {
		t.Errorf("after a return the record may be evicted at %s, want a whole hour", got)
	}
	if got := newState().evictAt(now.Add(24*time.Hour), time.Hour); !got.Equal(now.Add(25 * time.Hour)) {
		t.Errorf("after a restart the record may be evicted at %s, want a whole hour", got)
	}
}
