package presence

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const clusters, works = "managedclusters.cluster.open-cluster-management.io", "manifestworks.work.open-cluster-management.io"

var errBoom = errors.New("boom")

// cached is a cache with clusters, by name with their UIDs.
type cached struct {
	client.Reader

	uids map[string]types.UID
	err  error
}

func (c *cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	found, _ := list.(*clusterv1.ManagedClusterList)
	for name, uid := range c.uids {
		found.Items = append(found.Items, clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}})
	}
	return c.err
}

// fixture is a guard with its clock, its cache and the releases it requested.
type fixture struct {
	*Guard

	t        *testing.T
	clock    *testclock.FakeClock
	cache    *cached
	released int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: testclock.NewFakeClock(time.Unix(1e6, 0)), cache: &cached{uids: map[string]types.UID{"a": "1", "b": "2"}}}
	watcher := &Watcher{clock: f.clock, there: map[string]bool{}, follows: []string{clusters, works}, changed: func() {}}
	f.Guard = NewGuard(Options{
		Watcher: watcher, Kinds: []Kind{{Definition: clusters, List: &clusterv1.ManagedClusterList{}}}, Clock: f.clock, Log: logr.Discard(),
		Release: func(context.Context, []string) error { f.released++; return errBoom },
	})
	f.observe(clusters, true)
	f.observe(works, true)
	return f
}

// observe shows a definition to the watcher: there, being deleted, or gone.
func (f *fixture) observe(name string, there bool) {
	f.t.Helper()
	f.options.Watcher.observe(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}, there)
}

func (f *fixture) require(want Phase) {
	f.t.Helper()
	f.step(f.t.Context(), f.cache)
	if got, _ := f.state(); got != want || f.Holds() != (want != Present) || (f.Message() == "") != (want == Present) {
		f.t.Errorf("the phase is %d, want %d; holds: %v; message %q", got, want, f.Holds(), f.Message())
	}
}

func TestDecisionsWaitForWhatWentWithADefinition(t *testing.T) {
	f := newFixture(t)
	f.require(Present)
	now := metav1.NewTime(f.clock.Now())
	f.options.Watcher.observe(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: clusters, DeletionTimestamp: &now}}, true)
	if !f.Holds() {
		t.Error("a definition that is being deleted holds nothing before the guard has looked")
	}
	f.require(Gone)
	f.cache.uids = nil
	f.observe(clusters, false)
	f.require(Gone)
	if f.released != 2 { // once for each look
		t.Errorf("finalizers were released %d times, want 2", f.released)
	}
	f.observe(works, false)
	f.require(Gone)
	f.observe(clusters, true)
	f.require(Gone)
	f.observe(works, true)
	f.require(Returning)
	if message := f.Message(); !strings.Contains(message, clusters+", "+works+": the definition is back") {
		t.Errorf("the message is %q, want both definitions in it", message)
	}
	f.cache.uids = map[string]types.UID{"a": "1", "b": "4"} // the cache is behind
	f.require(Returning)
	f.cache.uids = map[string]types.UID{"a": "3"}
	f.require(Returning)
	f.cache.uids = map[string]types.UID{"a": "3", "b": "4", "c": "5"}
	f.require(Returning)
	f.clock.Step(settleTime)
	f.require(Present)
}

func TestTheWaitForObjectsEnds(t *testing.T) {
	f := newFixture(t)
	f.observe(clusters, false)
	f.require(Gone)
	f.cache.uids = nil
	f.observe(clusters, true)
	f.require(Returning)
	f.clock.Step(ReturnGrace - time.Second)
	f.require(Returning)
	f.cache.err = errBoom
	f.clock.Step(time.Second)
	f.require(Present)
}

func TestADefinitionThatWasNeverThereHoldsNothing(t *testing.T) {
	f := newFixture(t)
	f.options.Watcher.there = map[string]bool{works: true}
	f.require(Present)
}

// sent answers each request with 200.
type sent struct{}

func (sent) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestWhichWritesAreRefused(t *testing.T) {
	const all = "all"
	for sentence, test := range map[string]struct {
		method, path string
		// refused are the phases in which the request is refused.
		refused string
	}{
		"a read":                        {http.MethodGet, "/apis/work.open-cluster-management.io/v1/manifestworks", ""},
		"a new work":                    {http.MethodPost, "/apis/work.open-cluster-management.io/v1/namespaces/a/manifestworks", "gone"},
		"a deleted work":                {http.MethodDelete, "/apis/work.open-cluster-management.io/v1/namespaces/a/manifestworks/w", all},
		"a status of a cluster":         {http.MethodPatch, "/apis/cluster.open-cluster-management.io/v1/managedclusters/a/status", "gone"},
		"a deleted role":                {http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/clusterroles/a", all},
		"a deleted namespace":           {http.MethodDelete, "/api/v1/namespaces/a", all},
		"a lease":                       {http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth-manager", ""},
		"an event":                      {http.MethodPost, "/api/v1/namespaces/a/events", ""},
		"the certificate":               {http.MethodPatch, "/api/v1/namespaces/berth-system/secrets/berth-serving", ""},
		"a deleted Secret":              {http.MethodDelete, "/api/v1/namespaces/a/secrets/s", ""},
		"a review of a permission":      {http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", ""},
		"a path that is of no resource": {http.MethodPost, "/", "gone"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			check := func(phase string) {
				t.Helper()
				request, err := http.NewRequestWithContext(t.Context(), test.method, "https://hub"+test.path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				f.options.Watcher.confirmedAt = f.clock.Now() // the live read has another test
				response, err := f.Wrap(sent{}).RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, _ := io.ReadAll(response.Body)
				refused := response.StatusCode == http.StatusServiceUnavailable
				if want := test.refused == all || test.refused == phase; phase != "present" && refused != want || phase == "present" && refused {
					t.Errorf("%s: the code is %d, want it refused: %v", phase, response.StatusCode, want)
				}
				if refused && !strings.Contains(string(body), clusters) {
					t.Errorf("%s: the refusal names no definition: %s", phase, body)
				}
			}
			check("present")
			f.observe(clusters, false)
			f.require(Gone)
			check("gone")
			f.cache.uids = nil
			f.observe(clusters, true)
			f.require(Returning)
			check("returning")
		})
	}
}
