package work

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
	"github.com/berth-project/berth/internal/agent/work/remote"
)

var errBoom = errors.New("boom")

// TestReadsThatFailBackOff fails each read of an object when it is due, with a further read before, as an event of another object causes
// it.
func TestReadsThatFailBackOff(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(1e6, 0))
	p := &pass{controller: &Controller{Clock: clock}, state: newState()}
	id := object.ID{Resource: "bindings", Name: "a"}
	var pauses []time.Duration
	for range 10 {
		until := p.unreadable(id, errBoom).Until
		pauses = append(pauses, until.Sub(clock.Now()))
		clock.Step(time.Second)
		if again := p.unreadable(id, errBoom).Until; !again.Equal(until) {
			t.Errorf("a read before it is due moves the next from %v to %v", until, again)
		}
		clock.SetTime(until)
	}
	const second = time.Second
	want := []time.Duration{
		2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 64 * second, 128 * second, 256 * second,
		300 * second, 300 * second,
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses between reads (-want +got):\n%s", diff)
	}
	delete(p.state.unread, id) // a read succeeds
	if until := p.unreadable(id, errBoom).Until; until.Sub(clock.Now()) != 2*second {
		t.Errorf("after a success, the next read is due at %v", until)
	}
}

// TestALookUpThatFailsIsDueAgain has a member that does not list the kinds of a group version.
func TestALookUpThatFailsIsDueAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	clock := testclock.NewFakeClock(time.Unix(1e6, 0))
	member, err := remote.New(&rest.Config{Host: server.URL}, clock)
	if err != nil {
		t.Fatal(err)
	}
	work := &workv1.ManifestWork{}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}`),
	}}}
	p := &pass{
		controller: &Controller{Clock: clock, Member: member, watch: newWatches(t.Context(), member, nil)}, ctx: t.Context(), state: newState(),
		name: "w",
		work: work, record: &workv1.AppliedManifestWork{}, manifests: object.Parse(&work.Spec), unread: map[object.ID]plan.Failure{},
	}
	for range 2 { // the second step of a pass looks nothing up
		p.resolve()
	}
	step := plan.Plan(p.input())
	if again := step.Again; len(step.Calls) > 0 || !again.Equal(clock.Now().Add(2*time.Second)) {
		t.Errorf("the plan is %+v, again at %v", step, again)
	}
}
