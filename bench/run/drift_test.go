package run

import (
	"context"
	"testing"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// simulations is the number of simulated fleets. In some of them, placements that balance drift.
const simulations = 3

// TestOnlyDependentPlacementsDrift makes all changes of a benchmark in a random order. Once the queue is empty, the engine must
// not change an independent placement. It must not change a dependent placement either, given the decisions of all other
// placements at the time of its last decision.
func TestOnlyDependentPlacementsDrift(t *testing.T) {
	var sum drift
	for seed := uint64(1); seed <= simulations; seed++ {
		r := newSimulatedHub(t, seed)
		r.applyAll()
		got, err := r.measureDrift(r.stored)
		if err != nil {
			t.Fatal(err)
		}
		if got.independent.drifted > 0 {
			t.Errorf("seed %d: %d of %d placements that read no decisions of others were not enqueued", seed, got.independent.drifted,
				got.independent.placements)
		}
		now, env := r.stored.Snapshot(), enginetest.Env(t)
		for _, key := range r.stored.Keys() {
			again := plan.Diff(enginetest.DecidePlacement(r.snapshotAsDecided(now, key), r.stored.Placements[key], env), r.stored.Stored(key),
				r.stored.Now)
			if !again.Empty() {
				t.Errorf("seed %d: %s was not enqueued: with the decisions of that time, the engine would add %v and remove %v", seed, key, again.Added,
					again.Removed)
			}
		}
		sum.add(got)
	}
	if sum.independent.placements == 0 || sum.dependent.drifted == 0 {
		t.Errorf("%+v: no placement has drifted, so the test distinguishes nothing", sum)
	}
}

// TestMissedPlacementsAreCounted stores taints that the manager does not receive.
func TestMissedPlacementsAreCounted(t *testing.T) {
	r := newSimulatedHub(t, 1)
	for name, cluster := range r.stored.Clusters {
		tainted := cluster.DeepCopy()
		tainted.Spec.Taints = enginetest.Cluster(name).Taint(taintKey, "NoSelect", enginetest.Epoch).Obj().Spec.Taints
		r.stored.Add(tainted)
	}
	got, err := r.measureDrift(r.stored)
	if err != nil {
		t.Fatal(err)
	}
	if got.independent.drifted == 0 || got.dependent.drifted == 0 || got.writes < got.independent.drifted+got.dependent.drifted {
		t.Errorf("%+v have drifted after all clusters were tainted, want some of both kinds, each with at least one write", got)
	}
}

// applyAll makes each change as often as a run does, in random order.
func (s *simulatedHub) applyAll() {
	s.t.Helper()
	type event struct {
		next  func(context.Context, *hubRun, int) (change, error)
		round int
	}
	events := []event{{growSet, 0}, {scoreAll, 0}}
	for round := range changeRounds {
		events = append(events, event{taintOne, round}, event{relabelSome, round})
	}
	for _, at := range s.random.Perm(len(events)) {
		s.applyChange(events[at].next, events[at].round)
	}
}

// snapshotAsDecided returns the current fleet with the decisions of all other placements from the last decision of a placement.
func (s *simulatedHub) snapshotAsDecided(now *fleet.Snapshot, key fleet.Key) *fleet.Snapshot {
	edit := now.Edit()
	for other := range s.stored.Placements {
		if other != key {
			edit.SetSlices(other, s.seen[key].Slices(other))
		}
	}
	return edit.Snapshot().At(s.stored.Now)
}

func (d *drift) add(other drift) {
	d.dependent.add(other.dependent)
	d.independent.add(other.independent)
	d.writes += other.writes
}

func (d *driftCount) add(other driftCount) {
	d.placements, d.drifted = d.placements+other.placements, d.drifted+other.drifted
}
