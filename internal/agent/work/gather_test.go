package work

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/berth-project/berth/internal/agent/work/object"
)

var errBoom = errors.New("boom")

// TestReadsThatFailBackOff fails each read of an object when it is due, with a further read before, as an event of another object causes it.
func TestReadsThatFailBackOff(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(1e6, 0))
	p := &pass{Controller: &Controller{Clock: clock}, state: newState()}
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
	want := []time.Duration{2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 64 * second, 128 * second, 256 * second, 300 * second, 300 * second}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses between reads (-want +got):\n%s", diff)
	}
	delete(p.state.unread, id) // a read succeeds
	if until := p.unreadable(id, errBoom).Until; until.Sub(clock.Now()) != 2*second {
		t.Errorf("after a success, the next read is due at %v", until)
	}
}
