package score

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/source/score"
)

// newQueries returns a controller of two scores of the object one, and of one of the object two. Its queries respond when respond returns.
func newQueries(t *testing.T, respond func(query string)) *controller {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respond(r.FormValue("query"))
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"cluster":"a"},"value":[0,"1"]}]}}`))
	}))
	t.Cleanup(server.Close)
	config, err := parse([]byte(strings.ReplaceAll(`
sources: [{name: main, url: URL}]
scores:
- {name: cpu, object: one, query: cpu, min: 0, max: 1}
- {name: memory, object: one, query: memory, min: 0, max: 1}
- {name: price, object: two, query: price, min: 0, max: 1}
`, "URL", server.URL)))
	if err != nil {
		t.Fatal(err)
	}
	c := newController(nil, logr.Discard(), config, Options{Clock: clock.RealClock{}, Registry: prometheus.NewRegistry()})
	if c.sources["main"], err = newSource(config.Sources[0]); err != nil {
		t.Fatal(err)
	}
	c.seen["a"] = map[string]score.Sighting{}
	return c
}

// plannedScores returns how many scores that are planned for the cluster a, by object.
func (c *controller) plannedScores() map[string]int {
	out := map[string]int{}
	for _, each := range c.plan(map[string]bool{"a": true}, c.config.objects(), nil) {
		out[each.name] = len(each.status.Scores)
	}
	return out
}

// TestAnObjectWaitsForAllItsScores has one query that responds late. The object of another score is planned before, and the object of the
// late score only with all of its scores.
func TestAnObjectWaitsForAllItsScores(t *testing.T) {
	release := make(chan struct{})
	c := newQueries(t, func(query string) {
		if query == "memory" {
			<-release
		}
	})
	c.send(t.Context())
	for len(c.pending) < 2 {
		c.await(t.Context())
	}
	c.recordReturned()
	if diff := cmp.Diff(map[string]int{"two": 1}, c.plannedScores()); diff != "" {
		t.Errorf("while a query runs (-want +got):\n%s", diff)
	}
	if c.returned() {
		t.Error("the outcome of cpu is recorded without that of memory")
	}
	close(release)
	for !c.returned() {
		c.await(t.Context())
	}
	c.recordReturned()
	if diff := cmp.Diff(map[string]int{"one": 2, "two": 1}, c.plannedScores()); diff != "" {
		t.Errorf("after all queries have returned (-want +got):\n%s", diff)
	}
	if len(c.pending)+len(c.running) > 0 {
		t.Errorf("%d outcomes and %d queries are left", len(c.pending), len(c.running))
	}
}

// TestTheEndCountsNoFailure ends the controller while queries run. The cache is never read.
func TestTheEndCountsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := newQueries(t, func(string) { cancel(errors.New("the end")); time.Sleep(10 * time.Millisecond) })
	if err := c.run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(c.failures) > 0 {
		t.Errorf("failures %v", c.failures)
	}
}
