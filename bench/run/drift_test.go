package run

import (
	"context"
	"testing"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// rehearsals is how many stories are rehearsed, in some of which placements that balance drift.
const rehearsals = 3

// TestNobodyDriftsButByWhatOthersDecide lets everything happen to fleets that happens to those of a benchmark, in any order.
// Once nobody is awake any more, whoever reads nothing of what others decide would be decided as it is stored, and so would
// everybody else if all others still had what they had when it was last decided.
func TestNobodyDriftsButByWhatOthersDecide(t *testing.T) {
	var sum drift
	for seed := uint64(1); seed <= rehearsals; seed++ {
		r := rehearse(t, seed)
		r.churn()
		got, err := r.drifted(r.stored)
		if err != nil {
			t.Fatal(err)
		}
		if got.alone.drifted > 0 {
			t.Errorf("seed %d: %d of %d that read nothing of others were not woken", seed, got.alone.drifted, got.alone.placements)
		}
		now, env := r.stored.Snapshot(), enginetest.Env(t)
		for _, key := range r.stored.Keys() {
			again := plan.Diff(enginetest.Answer(r.then(now, key), r.stored.Placements[key], env), r.stored.Stored(key), r.stored.Now)
			if !again.Empty() {
				t.Errorf("seed %d: %s was not woken: with what others had decided then, the engine would add %v and remove %v", seed, key, again.Added, again.Removed)
			}
		}
		sum.add(got)
	}
	if sum.alone.placements == 0 || sum.heeding.drifted == 0 {
		t.Errorf("%+v: nobody has drifted, so nothing was told apart", sum)
	}
}

// TestWhoWasForgottenIsCounted stores taints of which the manager hears nothing.
func TestWhoWasForgottenIsCounted(t *testing.T) {
	r := rehearse(t, 1)
	for name, cluster := range r.stored.Clusters {
		tainted := cluster.DeepCopy()
		tainted.Spec.Taints = enginetest.Cluster(name).Taint(taintKey, "NoSelect", enginetest.Epoch).Obj().Spec.Taints
		r.stored.Add(tainted)
	}
	got, err := r.drifted(r.stored)
	if err != nil {
		t.Fatal(err)
	}
	if got.alone.drifted == 0 || got.heeding.drifted == 0 || got.writes < got.alone.drifted+got.heeding.drifted {
		t.Errorf("%+v have drifted after all clusters were tainted, want some of both kinds, each a write at least", got)
	}
}

// churn lets each change happen as often as to a hub, in any order.
func (r *rehearsal) churn() {
	r.t.Helper()
	type event struct {
		next  func(context.Context, *tale, int) (change, error)
		round int
	}
	events := []event{{growSet, 0}, {scoreAll, 0}}
	for round := range moment {
		events = append(events, event{taintOne, round}, event{relabelSome, round})
	}
	for _, at := range r.random.Perm(len(events)) {
		r.happen(events[at].next, events[at].round)
	}
}

// then returns the fleet of now, in which all others have what they had when a placement was last decided.
func (r *rehearsal) then(now *fleet.Snapshot, key fleet.Key) *fleet.Snapshot {
	edit := now.Edit()
	for other := range r.stored.Placements {
		if other != key {
			edit.SetSlices(other, r.seen[key].Slices(other))
		}
	}
	return edit.Snapshot().At(r.stored.Now)
}

func (d *drift) add(other drift) {
	d.heeding.add(other.heeding)
	d.alone.add(other.alone)
	d.writes += other.writes
}

func (t *tally) add(other tally) {
	t.placements, t.drifted = t.placements+other.placements, t.drifted+other.drifted
}
