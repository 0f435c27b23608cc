package enginetest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// readStates is the number of random states, readEvents the number of events in each.
const readStates, readEvents = 300, 12

// reader reads one placement of a state after every write.
type reader struct {
	at      string
	key     fleet.Key
	state   *enginetest.State
	tracker *decision.Tracker
	// seen is the sum of the changes of the tracker.
	seen map[string]bool
}

func (r *reader) read() decision.Decisions { return decision.Of(r.state.Listed(r.key)...) }

// write applies one write, passes it to the tracker, and compares the tracker with a reading.
func (r *reader) write(t *testing.T, write plan.Write) {
	t.Helper()
	r.state.Apply(write)
	if write.Slice == nil {
		return
	}
	if write.Verb == plan.Delete {
		r.tracker.Remove(write.Slice.Namespace, write.Slice.Name)
	} else {
		for _, slice := range r.state.SlicesOf(r.key) {
			if slice.Name == write.Slice.Name {
				r.tracker.Update(slice)
			}
		}
	}
	got, change := r.tracker.Take(types.NamespacedName(r.key))
	if diff := cmp.Diff(r.read().Groups(), got.Groups()); diff != "" {
		t.Fatalf("%s: tracker (-reading +tracked):\n%s", r.at, diff)
	}
	for _, name := range change.Added {
		r.seen[name] = true
	}
	for _, name := range change.Removed {
		delete(r.seen, name)
	}
}

// apply applies a plan write by write and checks a reading after each. It returns how many were inconsistent.
func (r *reader) apply(t *testing.T, made plan.Plan) int {
	t.Helper()
	before := r.read()
	end := r.state.Copy()
	for _, write := range made.Writes {
		end.Apply(write)
	}
	after := decision.Of(end.Listed(r.key)...)
	torn := 0
	for i, write := range made.Writes {
		r.write(t, write)
		now := r.read()
		if now.Inconsistent() {
			torn++
		}
		for name := range before.ClusterNames() {
			if after.Has(name) && !now.Has(name) {
				t.Fatalf("%s: %s stays selected, and is missing after write %d of %d", r.at, name, i+1, len(made.Writes))
			}
		}
	}
	return torn
}

// checkAtRest checks a reading after a plan was applied.
func (r *reader) checkAtRest(t *testing.T) {
	t.Helper()
	now := r.read()
	if now.Inconsistent() {
		t.Fatalf("%s: torn at rest: %v", r.at, now.Inconsistencies())
	}
	if found := now.Disagreements(r.state.Placements[r.key]); len(found) > 0 {
		t.Fatalf("%s: the status disagrees at rest: %v", r.at, found)
	}
	if len(r.seen) != now.Len() {
		t.Fatalf("%s: the changes add up to %d clusters, %d are selected", r.at, len(r.seen), now.Len())
	}
	for name := range now.ClusterNames() {
		if !r.seen[name] {
			t.Fatalf("%s: no change has %s", r.at, name)
		}
	}
}

// TestReadingsOfAFleetThatChanges applies random events to random fleets. A reading after any single write has every cluster
// that stays, and a reading after all writes is consistent.
func TestReadingsOfAFleetThatChanges(t *testing.T) {
	env := enginetest.Env(t)
	torn := 0
	for seed := range uint64(readStates) {
		random := enginetest.NewRandom(seed)
		live := enginetest.NewLive(random.State(1), env)
		key := live.State.Keys()[0]
		if live.State.Placements[key].Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
			continue
		}
		r := &reader{key: key, state: live.State, tracker: decision.NewTracker(), seen: map[string]bool{}}
		for _, slice := range r.state.SlicesOf(key) {
			r.tracker.Update(slice)
		}
		_, change := r.tracker.Take(types.NamespacedName(key))
		for _, name := range change.Added {
			r.seen[name] = true
		}
		for event := range readEvents {
			r.at = fmt.Sprintf("seed %d, event %d", seed, event)
			torn += r.apply(t, plan.Diff(live.Decide(key), live.State.Stored(key), live.State.Now))
			r.checkAtRest(t)
			live.SlicesChanged(key)
			random.Event(live)
			if live.State.Placements[key] == nil {
				break
			}
		}
	}
	if torn == 0 {
		t.Error("no reading was torn: these states show nothing")
	}
	t.Logf("%d readings were torn", torn)
}
