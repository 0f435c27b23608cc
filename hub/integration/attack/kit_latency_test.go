package attack

import (
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// latencyProbe measures how soon the hub answers a user who does no harm.
type latencyProbe struct {
	clock clock.PassiveClock
	// idle is the median when nothing happens, worst the longest since.
	idle, worst time.Duration
}

// latencyFactor is how many times longer than when idle the hub may take, where that is more than latencyLimit: on a machine
// that is busy with something else, everything takes longer.
const latencyFactor = 20

func (w *testHub) newLatencyProbe() {
	w.t.Helper()
	w.latencyProbe.clock = clock.RealClock{}
	var took []time.Duration
	for range 15 {
		took = append(took, w.measureLatency())
	}
	slices.Sort(took)
	w.latencyProbe.idle = took[len(took)/2]
}

// measureLatency reads a list, and has a webhook look at a binding that is not stored.
func (w *testHub) measureLatency() time.Duration {
	w.t.Helper()
	of, began := w.tenants[0], w.latencyProbe.clock.Now()
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, placements(of.namespaces[0]), ""},
		{http.MethodPost, bindings(of.namespaces[0]) + "?dryRun=All", toJSON(newBinding(of.set))},
	} {
		got, err := of.binder.send(w.t.Context(), request.method, request.path, plainJSON, request.body)
		if err != nil || got.code >= http.StatusInternalServerError {
			w.t.Errorf("the hub does not answer %s %s: %d %s %v", request.method, request.path, got.code, got.message, err)
		}
	}
	return w.latencyProbe.clock.Since(began)
}

// checkLatency fails the test where the hub does not answer in time, three times in a row: once may be the machine.
func (w *testHub) checkLatency() {
	w.t.Helper()
	limit := max(latencyLimit, latencyFactor*w.latencyProbe.idle)
	for range 3 {
		took := w.measureLatency()
		w.latencyProbe.worst = max(w.latencyProbe.worst, took)
		if took <= limit {
			return
		}
	}
	w.t.Errorf("the hub answers after more than %s, three times in a row; idle, it took %s", limit, w.latencyProbe.idle)
}
