package endtoend

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// quietInterval is how long no write may be completed. It is longer than the first retries of every controller.
const (
	quietInterval = 3 * time.Second
	// quietReads is how often the writes are read in that time: a metrics page is megabytes.
	quietReads = 6
)

// requireQuiet waits until the API servers complete no write of what is delivered. A write that repeats without end fails the test.
func (h *testHub) requireQuiet() {
	h.t.Helper()
	last, since := h.writes(), time.Now()
	kit.Await(h.t, "the API servers complete no write of what is delivered", func(context.Context) error {
		time.Sleep(quietInterval / quietReads)
		now := h.writes() //nolint:contextcheck // it takes the context of the test
		if diff := cmp.Diff(last, now); diff != "" {
			last, since = now, time.Now()
			return fmt.Errorf("writes (-before +after):\n%s: %w", diff, errNotYet)
		}
		if time.Since(since) < quietInterval {
			return errNotYet
		}
		return nil
	})
}

// writes returns how many writes each API server has completed, by verb and resource, without heartbeats and events.
func (h *testHub) writes() map[string]float64 {
	h.t.Helper()
	out := map[string]float64{}
	add := func(name string, of *hubtest.Hub) {
		for request, count := range hubtest.Writes(of.ReadMetrics(h.t), func(_, resource string) bool { return counted(resource) }) {
			out[name+": "+request] = count
		}
	}
	add("hub", h.hub)
	for _, m := range h.members {
		add(m.name, m.hub)
	}
	return out
}

// counted returns whether writes of a resource are counted. Reviews are no writes, and the rest are heartbeats and messages.
func counted(resource string) bool {
	switch resource {
	case "leases", "events", "subjectaccessreviews", "selfsubjectaccessreviews", "tokenreviews", "tokens", "serviceaccounts":
		return false
	default:
		return true
	}
}
