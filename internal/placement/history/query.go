package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/placement/live"
)

var (
	// ErrUnknown means that the placement does not exist.
	ErrUnknown = errors.New("there is no such placement")
	// ErrIdle means that this process is not the leader, so it has no history.
	ErrIdle = errors.New("this process is not the leader, which alone has the history of changes and the graces")
	// ErrInvalid means that a placement to try is misconfigured.
	ErrInvalid = errors.New("the placement is misconfigured")
)

const (
	// maxAttempts bounds how often Explain starts again because the placement was decided meanwhile.
	maxAttempts = 3
	// maxEvaluations bounds the evaluations of CEL expressions in one Try. At the bound the request takes some seconds.
	maxEvaluations = 1_000_000
)

// Explanation is a run to explain, and how the stored decisions differ from it.
type Explanation struct {
	Run

	// Replayed means that the run was computed for this answer.
	Replayed bool
	// Stale is how the stored decisions differ from the run, or why nothing is decided now; empty if neither is so.
	Stale string
	// Case is the current placement and fleet.
	Case explain.Case
}

// Explain returns the last run of a placement. If the run is not in memory, or was made for other clusters than there are now, Explain
// computes a run of the current state: a change of a cluster that cannot change a decision starts none, and changes a verdict all the same.
func (r *Record) Explain(ctx context.Context, key fleet.Key) (*Explanation, error) {
	stored, err := r.storedFor(ctx)
	if err != nil {
		return nil, err
	}
	var out *Explanation
	for range maxAttempts {
		found, held := r.runs.last(key)
		now, ok := stored.Peek(key, r.options.Clock.Now())
		if !ok {
			return nil, ErrUnknown
		}
		if !held || found.Placement.UID != now.Stored.Placement.UID {
			return r.replay(key, now), nil
		}
		if r.outdated(key, found.Result.Trace.Snapshot, now.Snapshot) {
			return r.replay(key, now), nil
		}
		out = &Explanation{Run: found, Stale: staleReason(found, now), Case: r.newCase(now)}
		if again, _ := r.runs.last(key); again.Result == found.Result {
			break
		}
	}
	return out, nil
}

// storedFor returns what this process has stored if it is the leader, and otherwise reads it from the API server.
func (r *Record) storedFor(ctx context.Context) (*live.Stored, error) {
	if leads := r.leader.Load(); leads != nil {
		return leads.stored, nil
	}
	select {
	case r.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to read the fleet: %w", ctx.Err())
	}
	defer func() { <-r.reading }()
	return live.Read(ctx, r.options.Reader, r.options.Env)
}

// outdated reports whether the run of a snapshot has other verdicts than the fleet has now, and no run follows: clusters came or went, a
// withdrawal began or ended, or a cluster has changed, such as its set, in a way that does not concern the decision.
func (r *Record) outdated(key fleet.Key, then, now *fleet.Snapshot) bool {
	return !then.HasSameClusters(now) || graceDiffers(key, then, now) || !r.causes.waits(key) && !then.HasSameTerms(now)
}

// graceDiffers reports whether a set that a placement has, its binding, or a label or claim of a cluster is being withdrawn in one of two
// snapshots with the same clusters, and not in the other. A withdrawal that begins decides nothing.
func graceDiffers(key fleet.Key, then, now *fleet.Snapshot) bool {
	if slices.ContainsFunc(now.BoundSets(key.Namespace), func(set string) bool {
		return now.Withdrawing(key.Namespace, set) != then.Withdrawing(key.Namespace, set)
	}) {
		return true
	}
	before, after := then.ClustersWith(fleet.TermWithdrawing), now.ClustersWith(fleet.TermWithdrawing)
	if before.Count() != after.Count() {
		return true
	}
	for id := range after.All() {
		if !before.Has(id) {
			return true
		}
	}
	return false
}

func (r *Record) replay(key fleet.Key, now live.Input) *Explanation {
	run := Run{Placement: now.Stored.Placement, Result: decide(key, now)}
	return &Explanation{Run: run, Replayed: true, Stale: staleReason(run, now), Case: r.newCase(now)}
}

func decide(key fleet.Key, now live.Input) *engine.Result {
	return engine.Decide(now.Snapshot, key, now.Program, now.Faults, now.Ledger())
}

func (r *Record) newCase(now live.Input) explain.Case {
	return explain.Case{
		Snapshot: now.Snapshot, Placement: now.Stored.Placement, Past: now.Ledger(), Env: r.options.Env,
	}
}

// staleReason returns how the stored decisions differ from a run, or why nothing is decided now; empty if neither is so. It names no
// cluster, so it needs no permission.
func staleReason(run Run, now live.Input) string {
	stored := now.Stored
	if !live.Managed(stored.Placement) {
		return "the placement is being deleted or disabled, so Berth does not store this result"
	}
	if now.Waits {
		return "the hub lacks a definition, or objects that went with it: nothing is decided, and every grace waits, until they are back"
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
	return fmt.Sprintf("the stored decisions lag behind: they lack %d selected clusters and hold %d clusters that are not selected", missing,
		len(held))
}

// Try decides a placement that is not stored, or a changed spec of a stored one, and stores nothing. A placement with the uid of
// the stored one has its decisions and budget. Any other is new: the stored decisions of its name are not its own.
func (r *Record) Try(ctx context.Context, placement *clusterv1beta1.Placement) (*Explanation, error) {
	stored, err := r.storedFor(ctx)
	if err != nil {
		return nil, err
	}
	now := r.options.Clock.Now()
	snapshot, ok := stored.Snapshot(now)
	if !ok {
		return nil, errNotReady
	}
	if count := countExpressions(placement) * int(snapshot.IDLimit()); count > maxEvaluations {
		return nil, fmt.Errorf("%w: its expressions would be evaluated %d times over the fleet, the limit is %d: use fewer expressions",
			ErrInvalid, count, maxEvaluations)
	}
	compiled, faults := program.Compile(placement, r.options.Env)
	if len(faults) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, faults.ToAggregate())
	}
	key := fleet.Key{Namespace: placement.Namespace, Name: placement.Name}
	past := ledger.Ledger{}
	if found, ok := stored.Peek(key, now); ok && found.Stored.Placement.UID == placement.UID {
		past = found.Ledger()
		past.SameSpec = past.SameSpec && equality.Semantic.DeepEqual(found.Stored.Placement.Spec, placement.Spec)
	} else {
		edit := snapshot.Edit()
		edit.SetSlices(key, nil)
		snapshot = edit.Snapshot().At(now)
	}
	run := Run{Placement: placement, Result: engine.Schedule(snapshot, compiled, past)}
	return &Explanation{Run: run, Case: explain.Case{Snapshot: snapshot, Placement: placement, Past: past, Env: r.options.Env}}, nil
}

// countExpressions counts the CEL expressions that a run evaluates for each cluster.
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

var errNotReady = errors.New("the fleet is not read yet")

// Explanation returns the explanation without the clusters that visible rejects; nil: with all clusters.
func (e *Explanation) Explanation(visible func(cluster string) bool) explain.Explanation {
	out := explain.Of(e.Result, e.Placement, visible)
	out.Replayed, out.Stale = e.Replayed, e.Stale
	return out
}

// Cluster returns the explanation of one cluster, without names that visible rejects. Ok is false if the run had no such cluster.
func (e *Explanation) Cluster(name string, visible func(cluster string) bool) (found explain.Cluster, ok bool) {
	return explain.One(e.Result, name, visible)
}

// Fix returns the fewest changes that would make a cluster selected, without the sets that visible rejects; nil: with all sets. Ok is
// false if the cluster does not exist now.
func (e *Explanation) Fix(cluster string, visible func(set string) bool) (fix explain.Fix, ok bool) {
	id, ok := e.Case.Snapshot.ID(cluster)
	if !ok || e.Case.Snapshot.Cluster(id) == nil {
		return explain.Fix{}, false
	}
	input := e.Case
	input.SetVisible = visible
	return input.Fix(id), true
}

// History returns the changes of a placement since an instant. It hides clusters that visible rejects. If a cluster is given, it
// returns only changes that moved the cluster.
func (r *Record) History(key fleet.Key, since time.Time, cluster string, visible func(cluster string) bool) (explain.History, error) {
	leads := r.leader.Load()
	if leads == nil {
		return explain.History{}, ErrIdle
	}
	if _, ok := leads.stored.Peek(key, r.options.Clock.Now()); !ok {
		return explain.History{}, ErrUnknown
	}
	out := explain.History{
		Kind: explain.HistoryKind, Namespace: key.Namespace, Name: key.Name, From: leads.since.UTC(), Changes: []explain.Change{},
	}
	changes, dropped := r.history.changes(key, since)
	out.Dropped = dropped
	for _, change := range changes {
		if cluster == "" || change.mayMove(cluster) {
			out.Changes = append(out.Changes, change.Visible(visible, cluster))
		}
	}
	return out, nil
}
