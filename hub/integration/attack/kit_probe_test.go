package attack

import (
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// prober measures how soon the hub answers a user who does no harm.
type prober struct {
	clock clock.PassiveClock
	// idle is the median when nothing happens, worst the longest since.
	idle, worst time.Duration
}

// patienceFactor is how many times longer than when idle the hub may take, where that is more than inTime: on a machine
// that is busy with something else, everything takes longer.
const patienceFactor = 20

func (w *world) newProber() {
	w.t.Helper()
	w.prober.clock = clock.RealClock{}
	var took []time.Duration
	for range 15 {
		took = append(took, w.ask())
	}
	slices.Sort(took)
	w.prober.idle = took[len(took)/2]
}

// ask reads a list, and has a webhook look at a binding that is not stored.
func (w *world) ask() time.Duration {
	w.t.Helper()
	of, began := w.tenants[0], w.prober.clock.Now()
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, placements(of.namespaces[0]), ""},
		{http.MethodPost, bindings(of.namespaces[0]) + "?dryRun=All", text(newBinding(of.set))},
	} {
		got, err := of.binder.send(w.t.Context(), request.method, request.path, plainJSON, request.body)
		if err != nil || got.code >= http.StatusInternalServerError {
			w.t.Errorf("the hub does not answer %s %s: %d %s %v", request.method, request.path, got.code, got.message, err)
		}
	}
	return w.prober.clock.Since(began)
}

// probe fails the test where the hub does not answer in time, three times in a row: once may be the machine.
func (w *world) probe() {
	w.t.Helper()
	limit := max(inTime, patienceFactor*w.prober.idle)
	for range 3 {
		took := w.ask()
		w.prober.worst = max(w.prober.worst, took)
		if took <= limit {
			return
		}
	}
	w.t.Errorf("the hub answers after more than %s, three times in a row; idle, it took %s", limit, w.prober.idle)
}
