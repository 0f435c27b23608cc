package printer

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// progressTest is a progress and what it has shown.
type progressTest struct {
	*Progress

	clock *clocktesting.FakeClock
	out   *strings.Builder
}

func newProgressTest() progressTest {
	out := &strings.Builder{}
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	return progressTest{&Progress{out: out, clock: clock}, clock, out}
}

func TestProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		work func(progressTest)
		want string
	}{
		"what is quick shows nothing": {func(w progressTest) {
			w.Update("clusters", 0)
			w.clock.Step(999 * time.Millisecond)
			w.Update("clusters", 500)
			w.Done()
			w.clock.Step(time.Hour)
		}, ""},
		"what is slow to begin shows after a second": {func(w progressTest) {
			w.Update("clusters", 0)
			w.clock.Step(time.Second)
		}, "\r\x1b[Kreading clusters: 0"},
		"what takes long is counted, and erased": {func(w progressTest) {
			w.Update("clusters", 0)
			w.clock.Step(time.Second)
			w.clock.Step(time.Second)
			w.Update("clusters", 3500)
			w.Done()
		}, "\r\x1b[Kreading clusters: 0\r\x1b[Kreading clusters: 3,500\r\x1b[K"},
		"it does not flicker": {func(w progressTest) {
			w.Update("clusters", 0)
			w.clock.Step(time.Second)
			for read := range 100 {
				w.Update("clusters", read)
			}
		}, "\r\x1b[Kreading clusters: 0"},
		"each time starts anew": {func(w progressTest) {
			w.Update("clusters", 0)
			w.Done()
			w.clock.Step(time.Minute)
			w.Update("sets", 0)
			w.Done()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProgressTest()
			tc.work(w)
			if w.out.String() != tc.want {
				t.Errorf("got %q, want %q", w.out.String(), tc.want)
			}
		})
	}
}

func TestThousands(t *testing.T) {
	for number, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(number); got != want {
			t.Errorf("%d: got %q", number, got)
		}
	}
}
