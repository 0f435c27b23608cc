package agent

import (
	"testing"
	"time"
)

func TestPausesGrowWithShortPhasesInARow(t *testing.T) {
	for sentence, test := range map[string]struct {
		before int
		lasted time.Duration
		want   int
	}{
		"the first short phase":             {0, time.Second, 1},
		"a bootstrap that succeeds at once": {5, 0, 6},
		"a long phase starts anew":          {5, 10 * time.Minute, 0},
		"a clock that was set back":         {5, -time.Hour, 6},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := shortPhases(test.before, test.lasted); got != test.want {
				t.Errorf("shortPhases = %d, want %d", got, test.want)
			}
		})
	}
}
