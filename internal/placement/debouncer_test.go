package placement

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
)

// TestDebounceScores lists when the scores of one placement and of another change, when the placement is evaluated anyway, and when it
// is due.
func TestDebounceScores(t *testing.T) {
	const tick = 20 * time.Millisecond
	every := func(pause, end time.Duration) (out []time.Duration) {
		for at := time.Duration(0); at < end; at += pause {
			out = append(out, at)
		}
		return out
	}
	for sentence, test := range map[string]struct {
		scores, others, looks, want []time.Duration
	}{
		"one score":                          {scores: []time.Duration{0}, want: []time.Duration{quietPeriod}},
		"two scores within the quiet period": {scores: []time.Duration{0, 4 * tick}, want: []time.Duration{4*tick + quietPeriod}},
		"two scores, far apart": {
			scores: []time.Duration{0, time.Second},
			want:   []time.Duration{quietPeriod, time.Second + quietPeriod},
		},
		"scores that never end": {scores: every(tick, 2*maxScoreDelay), want: []time.Duration{maxScoreDelay, 2 * maxScoreDelay}},
		"a decision":            {scores: []time.Duration{0, 2 * tick}, looks: []time.Duration{3 * tick}},
		"an early decision": {
			scores: []time.Duration{0, 4 * tick}, looks: []time.Duration{3 * tick}, want: []time.Duration{4*tick + quietPeriod},
		},
		"a decision during an endless burst": {
			scores: every(tick, 2*maxScoreDelay), looks: []time.Duration{maxScoreDelay / 2}, want: []time.Duration{maxScoreDelay, 2 * maxScoreDelay},
		},
		"scores of another placement": {
			scores: []time.Duration{0}, others: []time.Duration{4 * tick},
			want: []time.Duration{4*tick + quietPeriod},
		},
		"scores of another placement that never end": {
			scores: []time.Duration{maxScoreDelay / 2}, others: every(tick, 2*maxScoreDelay), want: []time.Duration{maxScoreDelay},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(enginetest.Epoch)
			now := func() time.Duration { return clock.Since(enginetest.Epoch) }
			var at time.Duration // the next time of the clock
			var got []time.Duration
			key, other := fleet.Key{Name: "p"}, fleet.Key{Name: "q"}
			g := newScoreDebouncer(clock, func(over fleet.Key) {
				if over == key {
					got = append(got, at)
				}
			})
			for ; at <= 3*maxScoreDelay; at += tick {
				clock.Step(at - now())
				if slices.Contains(test.scores, at) {
					g.add(key)
				}
				if slices.Contains(test.others, at) {
					g.add(other)
				}
				if slices.Contains(test.looks, at) {
					g.remove(key)
				}
				if waiting := waitingKeys(g); waiting > 2 || clock.Waiters() > 1 {
					t.Fatalf("after %s: %d placements wait, of 2, with %d timers", at, waiting, clock.Waiters())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
			if g.batch != nil {
				t.Error("a batch never ends")
			}
		})
	}
}

// waitingKeys returns the number of waiting placements.
func waitingKeys(g *scoreDebouncer) int {
	if g.batch == nil {
		return 0
	}
	return len(g.batch.keys)
}

// TestNoScoreIsLost changes scores while workers read them, at random times and when they are due. At the end each worker has read the
// last value of each score.
func TestNoScoreIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, providers, scores = 4, 3, 400
		var written [readers]atomic.Int64
		var seen [readers]int64
		due, done := make(chan fleet.Key, readers*providers*scores), make(chan struct{})
		key := func(i int) fleet.Key { return fleet.Key{Name: strconv.Itoa(i)} }
		g := newScoreDebouncer(clock.RealClock{}, func(key fleet.Key) { due <- key })
		look := func(key fleet.Key) {
			g.remove(key)
			i, _ := strconv.Atoi(key.Name)
			seen[i] = written[i].Load()
		}
		var all, worker sync.WaitGroup
		for provider := range providers {
			all.Go(func() {
				for n := range scores {
					for i := range readers {
						written[i].Add(1)
						g.add(key(i))
					}
					time.Sleep(time.Duration(n*(provider+1)%7) * quietPeriod / 5)
				}
			})
		}
		looks := 0
		worker.Go(func() {
			for ; ; looks++ {
				select {
				case <-done:
					return
				case key := <-due:
					look(key)
				case <-time.After(quietPeriod / 3):
					if looks < scores {
						look(key(looks % readers))
					}
				}
			}
		})
		all.Wait()
		time.Sleep(time.Minute)
		close(done)
		worker.Wait()
		for i := range readers {
			if seen[i] != written[i].Load() {
				t.Errorf("reader %d has seen %d of %d scores", i, seen[i], written[i].Load())
			}
		}
		if g.batch != nil || len(due) > 0 {
			t.Errorf("%d placements still wait, %d are due", waitingKeys(g), len(due))
		}
	})
}
