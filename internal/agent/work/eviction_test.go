package work

import "testing"

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
