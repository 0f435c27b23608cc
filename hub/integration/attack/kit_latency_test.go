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

func (t *testHub) newLatencyProbe() {
	t.t.Helper()
	t.latencyProbe.clock = clock.RealClock{}
	var took []time.Duration
	for range 15 {
		took = append(took, t.measureLatency())
	}
	slices.Sort(took)
	t.latencyProbe.idle = took[len(took)/2]
}

// measureLatency reads a list, and creates a binding by a dry run, which a webhook checks.
func (t *testHub) measureLatency() time.Duration {
	t.t.Helper()
	of, began := t.tenants[0], t.latencyProbe.clock.Now()
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, placements(of.namespaces[0]), ""},
		{http.MethodPost, bindings(of.namespaces[0]) + "?dryRun=All", toJSON(newBinding(of.set))},
	} {
		got, err := of.binder.send(t.t.Context(), request.method, request.path, plainJSON, request.body)
		if err != nil || got.code >= http.StatusInternalServerError {
			t.t.Errorf("the hub does not respond to %s %s: %d %s %v", request.method, request.path, got.code, got.message, err)
		}
	}
	return t.latencyProbe.clock.Since(began)
}

// checkLatency fails the test if the hub responds late three times in a row. A single late response may be the machine's.
func (t *testHub) checkLatency() {
	t.t.Helper()
	limit := max(latencyLimit, latencyFactor*t.latencyProbe.idle)
	for range 3 {
		took := t.measureLatency()
		t.latencyProbe.worst = max(t.latencyProbe.worst, took)
		if took <= limit {
			return
		}
	}
	t.t.Errorf("the hub responds after more than %s, three times in a row; when idle, it took %s", limit, t.latencyProbe.idle)
}
