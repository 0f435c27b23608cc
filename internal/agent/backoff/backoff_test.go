package backoff_test

import (
	"context"
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/backoff"
)

func TestFullJitterIsARandomPartOfADoubledDelay(t *testing.T) {
	for sentence, test := range map[string]struct {
		failures int
		random   float64
		want     time.Duration
	}{
		"no failure counts as one":       {0, 0.5, 500 * time.Millisecond},
		"the first failure":              {1, 0.5, 500 * time.Millisecond},
		"the third failure":              {3, 0.5, 2 * time.Second},
		"never above the limit":          {10, 0.5, 30 * time.Second},
		"many failures do not overflow":  {1 << 20, 0.5, 30 * time.Second},
		"the smallest number is no time": {5, 0, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := backoff.FullJitter(test.failures, time.Second, time.Minute, test.random); got != test.want {
				t.Errorf("FullJitter = %s, want %s", got, test.want)
			}
		})
	}
}

func TestSleepEndsWithTheContextAndWithAChange(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	changed := make(chan struct{})
	close(changed)
	if err := backoff.SleepUntil(ctx, clock, time.Hour, changed); err != nil {
		t.Errorf("after a change: %v", err)
	}
	if err := backoff.Sleep(ctx, clock, 0); err != nil {
		t.Errorf("without a delay: %v", err)
	}
	cancel()
	if err := backoff.Sleep(ctx, clock, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestSpreadIsUpToATenthLess(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: time.Minute, 0.5: 57 * time.Second} {
		if got := backoff.Spread(time.Minute, random); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAfterRefusalsDoublesUpToEightIntervals(t *testing.T) {
	for refusals, want := range map[int]string{0: "1m0s", 1: "1m0s", 2: "2m0s", 3: "4m0s", 4: "8m0s", 5: "8m0s", 1 << 20: "8m0s"} {
		if got := backoff.AfterRefusals(time.Minute, refusals).String(); got != want {
			t.Errorf("after %d refusals %s, want %s", refusals, got, want)
		}
	}
}
