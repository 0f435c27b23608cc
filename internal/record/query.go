package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/source/live"
)

var (
	// ErrUnknown says that there is no such placement.
	ErrUnknown = errors.New("there is no such placement")
	// ErrIdle says that this process does not decide, so it has no history.
	ErrIdle = errors.New("this process does not decide placements, so it remembers no changes")
	// ErrInvalid says that a placement to try cannot be decided as it is.
	ErrInvalid = errors.New("the placement is misconfigured")
)

const (
	// maxAttempts is how often an answer is begun anew because the placement was decided in between.
	maxAttempts = 3
	// maxEvaluations is how often the expressions of a placement to try may be run in all: whoever asks waits some seconds then.
	maxEvaluations = 1_000_000
)

// Explanation is the run to tell of, and how what is stored differs from it.
type Explanation struct {
	Run

	Replayed bool
	// Stale is empty where what is stored is what the run selected.
	Stale string
	// Case is the placement and the fleet now.
	Case explain.Case
}

// Explain returns the last run of a placement. Where it is not remembered, a run is made of what is known now.
func (r *Record) Explain(ctx context.Context, key fleet.Key) (*Explanation, error) {
	world, err := r.stateFor(ctx)
	if err != nil {
		return nil, err
	}
	var out *Explanation
	for range maxAttempts {
		found, held := r.runs.last(key)
		now, ok := world.Peek(key, r.options.Clock.Now())
		if !ok {
			return nil, ErrUnknown
		}
		if !held || found.Placement.UID != now.Stored.Placement.UID {
			return r.replay(key, now), nil
		}
		out = &Explanation{Run: found, Stale: staleReason(found, now.Stored), Case: r.newCase(now)}
		if again, _ := r.runs.last(key); again.Result == found.Result {
			break
		}
	}
	return out, nil
}

// stateFor returns the world of the process that decides, or one that is read from the API server for this answer.
func (r *Record) stateFor(ctx context.Context) (*live.State, error) {
	if leads := r.leader.Load(); leads != nil {
		return leads.world, nil
	}
	select {
	case r.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to read the fleet: %w", ctx.Err())
	}
	defer func() { <-r.reading }()
	return live.Read(ctx, r.options.Reader, r.options.Env)
}

func (r *Record) replay(key fleet.Key, now live.Input) *Explanation {
	run := Run{Placement: now.Stored.Placement, Result: decide(key, now)}
	return &Explanation{Run: run, Replayed: true, Stale: staleReason(run, now.Stored), Case: r.newCase(now)}
}

func decide(key fleet.Key, now live.Input) *engine.Result {
	return engine.Decide(now.Snapshot, key, now.Program, now.Faults, plan.ReadLedger(now.Stored.Placement))
}

func (r *Record) newCase(now live.Input) explain.Case {
	return explain.Case{
		Snapshot: now.Snapshot, Placement: now.Stored.Placement, Past: plan.ReadLedger(now.Stored.Placement), Env: r.options.Env,
	}
}

// staleReason says how what is stored differs from a run; empty where it does not. It names no cluster.
func staleReason(run Run, stored plan.Stored) string {
	if !live.Managed(stored.Placement) {
		return "the placement is being deleted or left to others, so nothing is stored of what is said here"
	}
	if was, is := run.Placement.Generation, stored.Placement.Generation; was != is {
		return fmt.Sprintf("the placement has changed: generation %d was decided, generation %d is stored", was, is)
	}
	held := map[string]bool{}
	for _, slice := range stored.Slices {
		for _, name := range plan.Clusters(slice) {
			held[name] = true
		}
	}
	missing := 0
	for _, name := range run.Result.Clusters() {
		if !held[name] {
			missing++
		}
		delete(held, name)
	}
	if missing+len(held) == 0 {
		return ""
	}
	return fmt.Sprintf("the decisions are not stored yet: %d selected clusters are not in them, and %d are that are not selected", missing, len(held))
}

// Try decides a placement that is not stored, or not so, and stores nothing. Where the object has the uid of the stored
// one of its name, it is that one after a change; otherwise it is new, and what is decided for its name is not its own.
func (r *Record) Try(ctx context.Context, placement *clusterv1beta1.Placement) (*Explanation, error) {
	world, err := r.stateFor(ctx)
	if err != nil {
		return nil, err
	}
	now := r.options.Clock.Now()
	snapshot, ok := world.Fleet(now)
	if !ok {
		return nil, errNotReady
	}
	if count := countExpressions(placement) * int(snapshot.IDLimit()); count > maxEvaluations {
		return nil, fmt.Errorf("%w: its expressions would be run %d times over the fleet, %d are the most: leave some out", ErrInvalid, count, maxEvaluations)
	}
	compiled, faults := program.Compile(placement, r.options.Env)
	if len(faults) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, faults.ToAggregate())
	}
	key := fleet.Key{Namespace: placement.Namespace, Name: placement.Name}
	past := ledger.Ledger{}
	if stored, ok := world.Peek(key, now); ok && stored.Stored.Placement.UID == placement.UID {
		past = plan.ReadLedger(stored.Stored.Placement)
		past.SameSpec = past.SameSpec && equality.Semantic.DeepEqual(stored.Stored.Placement.Spec, placement.Spec)
	} else {
		edit := snapshot.Edit()
		edit.SetSlices(key, nil)
		snapshot = edit.Snapshot().At(now)
	}
	run := Run{Placement: placement, Result: engine.Schedule(snapshot, compiled, past)}
	return &Explanation{Run: run, Case: explain.Case{Snapshot: snapshot, Placement: placement, Past: past, Env: r.options.Env}}, nil
}

// countExpressions counts those that a run asks of every cluster.
func countExpressions(placement *clusterv1beta1.Placement) int {
	count := 0
	for _, predicate := range placement.Spec.Predicates {
		count += len(predicate.RequiredClusterSelector.CelSelector.CelExpressions)
	}
	for _, tier := range placement.Spec.Tiers {
		count += len(tier.ClusterSelector.CelSelector.CelExpressions)
	}
	for _, group := range placement.Spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		count += len(group.ClusterSelector.CelSelector.CelExpressions)
	}
	return count
}

var errNotReady = errors.New("the fleet is not known yet")

// Explanation tells the answer to somebody who sees some of the clusters; nil stands for all.
func (a *Explanation) Explanation(sees func(cluster string) bool) explain.Explanation {
	out := explain.Of(a.Result, a.Placement, sees)
	out.Replayed, out.Stale = a.Replayed, a.Stale
	return out
}

// Fix returns the fewest changes that would make a cluster selected, for somebody who sees some of the sets; nil stands for
// all. Ok is false where there is no such cluster now.
func (a *Explanation) Fix(cluster string, sees func(set string) bool) (fix explain.Fix, ok bool) {
	id, ok := a.Case.Snapshot.ID(cluster)
	if !ok || a.Case.Snapshot.Cluster(id) == nil {
		return explain.Fix{}, false
	}
	asked := a.Case
	asked.SetVisible = sees
	return asked.Fix(id), true
}

// History returns the changes of a placement since an instant, as somebody may see them; where a cluster is given, those
// that moved it.
func (r *Record) History(key fleet.Key, since time.Time, cluster string, sees func(cluster string) bool) (explain.History, error) {
	leads := r.leader.Load()
	if leads == nil {
		return explain.History{}, ErrIdle
	}
	if _, ok := leads.world.Peek(key, r.options.Clock.Now()); !ok {
		return explain.History{}, ErrUnknown
	}
	out := explain.History{
		Kind: explain.HistoryKind, Namespace: key.Namespace, Name: key.Name, From: leads.since.UTC(), Changes: []explain.Change{},
	}
	changes, dropped := r.history.changes(key, since)
	out.Dropped = dropped
	for _, change := range changes {
		if cluster == "" || change.mayMove(cluster) {
			out.Changes = append(out.Changes, change.Visible(sees, cluster))
		}
	}
	return out, nil
}
