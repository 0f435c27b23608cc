package attack

import (
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// latencyProbe measures how soon the hub responds to a user with valid requests.
type latencyProbe struct {
	clock clock.PassiveClock
	// idle is the median on an idle hub. worst is the longest response since.
	idle, worst time.Duration
}

// latencyFactor limits the latency to a multiple of the idle latency, if that is above latencyLimit: on a busy machine every request
// takes longer.
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

// measureLatency reads a list, and creates a binding by a dry run, which a webhook checks.
func (w *testHub) measureLatency() time.Duration {
	w.t.Helper()
	of, began := w.tenants[0], w.latencyProbe.clock.Now()
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, placements(of.namespaces[0]), ""},
		{http.MethodPost, bindings(of.namespaces[0]) + "?dryRun=All", toJSON(newBinding(of.set))},
	} {
		got, err := of.binder.send(w.t.Context(), request.method, request.path, plainJSON, request.body)
		if err != nil || got.code >= http.StatusInternalServerError {
			w.t.Errorf("the hub does not respond to %s %s: %d %s %v", request.method, request.path, got.code, got.message, err)
		}
	}
	return w.latencyProbe.clock.Since(began)
}

// checkLatency fails the test if the hub responds late three times in a row. A single late response may be the machine's.
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
	w.t.Errorf("the hub responds after more than %s, three times in a row; when idle, it took %s", limit, w.latencyProbe.idle)
}
