package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
	"github.com/berth-project/berth/internal/kube/assumed"
)

// Fleet is the clusters, sets, bindings and scores of a hub as they are known now. It builds snapshots of them and of the decisions that
// Stored passes, and enqueues the placements that a change of them can affect. Its methods may be called from any goroutine. It never calls
// Stored.
type Fleet struct {
	enqueue, enqueueScored func(fleet.Key, explain.Cause)

	mu sync.Mutex
	// ready is set once the caches are filled. Until then nothing is enqueued and no snapshot is made.
	ready    bool
	snapshot *fleet.Snapshot
	// pending holds the changes since the snapshot; nil without changes. Once the fleet is ready, these are heartbeats and
	// scores, which the index does not read from a snapshot. They are published when a snapshot is read.
	pending *fleet.Edit
	// changes counts the changes so far.
	changes uint64
	// index finds the placements that a change can affect, by their programs.
	index    *wake.Index
	programs map[fleet.Key]*program.Program
	// unmanaged lists the clusters in slices that Berth wrote and does not decide, by placement.
	unmanaged map[fleet.Key]map[string]struct{}
	// kept lists the clusters that placements keep though their spec may not select them: without a decision, since the last edit is held or
	// misconfigured, or by a brake.
	kept map[fleet.Key]map[string]struct{}
	// bequests counts the deleted placements that a placement of the same name would inherit each cluster from.
	bequests map[string]int
	// boundTo lists for each set the namespaces with a binding to it.
	boundTo map[string]map[string]struct{}
	clock   clock.PassiveClock
	// withdrawals are what the API server no longer has and still counts.
	withdrawals withdrawals
	// barred are the placements that could not choose a cluster because of that, by cluster.
	barred map[string]map[fleet.Key]struct{}
	rules  fleet.Rules
	// retainUntil is when the grace after the start ends: until then no incumbent leaves by what changed while no manager ran.
	retainUntil time.Time
	// assumeBuiltIn is set if the manager restores the built-in sets.
	assumeBuiltIn bool
}

func newFleet(at clock.PassiveClock, enqueue, scored func(fleet.Key, explain.Cause)) *Fleet {
	return &Fleet{
		clock: at, withdrawals: newWithdrawals(at), barred: map[string]map[fleet.Key]struct{}{},
		enqueue: enqueue, enqueueScored: scored,
		snapshot:  fleet.Empty(),
		index:     wake.NewIndex(),
		programs:  map[fleet.Key]*program.Program{},
		unmanaged: map[fleet.Key]map[string]struct{}{},
		kept:      map[fleet.Key]map[string]struct{}{},
		boundTo:   map[string]map[string]struct{}{},
		bequests:  map[string]int{},
	}
}

// Snapshot returns the fleet as of now, with every change so far, and the number of changes so far. Stored must be ready.
func (f *Fleet) Snapshot(now time.Time) (snapshot *fleet.Snapshot, changes uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish()
	out := f.snapshot.At(now)
	out.Retention, out.Rules = fleet.Retention{Until: f.retainUntil}, f.rules
	return out, f.changes
}

func (f *Fleet) setRules(rules fleet.Rules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = rules
}

// setProgram records what a placement reads from the fleet: from now on a change of that enqueues it. The program is nil if the placement
// does not compile.
func (f *Fleet) setProgram(key fleet.Key, compiled *program.Program) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.programs[key] = compiled
	f.index.Put(f.snapshot, key, compiled)
}

// await records what a placement names and no cluster in its reach has: a cluster that has it enqueues the placement.
func (f *Fleet) await(key fleet.Key, references []program.Reference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(references) > 0 {
		if f.publish(); engine.AnyKnown(f.snapshot, f.programs[key], references) { // since the decision
			f.enqueue(key, explain.Cause{Kind: KindManager, What: referenceKnown})
			return
		}
	}
	f.index.Await(key, references)
}

// keep records the clusters that a placement keeps though its spec may not select them, because nothing was decided, by a brake, or by the
// grace after a start: every change of one of them enqueues the placement, so that a cluster leaves that is deleted, withdrawn or tainted.
func (f *Fleet) keep(key fleet.Key, result *engine.Result, braked map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := append(slices.Collect(maps.Keys(braked)), result.Retained...)
	if !result.Decided {
		names = result.Clusters()
	}
	if delete(f.kept, key); len(names) == 0 {
		return
	}
	f.publish()
	kept, changed := map[string]struct{}{}, false
	for _, name := range names {
		kept[name] = struct{}{}
		changed = changed || changedSince(result.Trace.Snapshot, f.snapshot, name)
	}
	if f.kept[key] = kept; changed {
		f.enqueue(key, explain.Cause{Kind: KindManager, What: keptChanged})
	}
}

// SameReach reports whether two decisions chose from the same sets with the same selectors. It is false for an unknown decision.
func SameReach(before, after []*fleet.Set) bool { return before != nil && slices.Equal(before, after) }

// changedSince returns whether a cluster differs in two snapshots, but for its heartbeats.
func changedSince(before, after *fleet.Snapshot, name string) bool {
	at := func(s *fleet.Snapshot) *fleet.Cluster {
		id, known := s.ID(name)
		if !known {
			return nil
		}
		return s.Cluster(id)
	}
	was, is := at(before), at(after)
	if was == nil || is == nil {
		return was != is
	}
	return fleet.ChangedFacets(was.Object, is.Object)&fleet.TermFacets != 0 || was.Withdrawing() != is.Withdrawing()
}

// deleteProgram records that a placement reads nothing from now on.
func (f *Fleet) deleteProgram(key fleet.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.programs, key)
	delete(f.kept, key)
	f.index.Remove(key)
}

// start ends the initial filling.
func (f *Fleet) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = true
	if f.withdrawals.enabled {
		f.retainUntil = f.clock.Now().Add(f.withdrawals.grace)
	}
	f.publish()
}

// Publish puts pending heartbeats and scores into the snapshot, so that the objects before them can be freed.
func (f *Fleet) Publish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish()
}

// SetCluster records a cluster from the API server.
func (f *Fleet) SetCluster(object *clusterv1.ManagedCluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit := f.nextEdit()
	before, selected := edit.Cluster(object.Name)
	counted, stored := f.withdrawals.observe(before, selected || f.bequests[object.Name] > 0, object)
	f.recordCluster(edit, counted, stored)
}

// recordCluster records a cluster as it counts. Stored is nil, or the cluster as the API server has it while a label or claim of it is
// being withdrawn.
func (f *Fleet) recordCluster(edit *fleet.Edit, counted, stored *clusterv1.ManagedCluster) {
	before, after, changed := edit.SetManagedCluster(counted, stored)
	f.clusterChanged(counted.Name, before, after, before == nil || changed&fleet.TermFacets != 0)
	if before.Withdrawing() && !after.Withdrawing() && f.ready { // it may be chosen again
		f.enqueueAll(f.enqueue, slices.SortedFunc(maps.Keys(f.barred[counted.Name]), fleet.Key.Compare),
			func() explain.Cause { return clusterCause(counted.Name, before, after) })
		delete(f.barred, counted.Name)
	}
}

// bar records which clusters a decision could not choose because a label or claim of them is being withdrawn. Their placements are enqueued
// when that ends, which may have been while they were decided.
func (f *Fleet) bar(key fleet.Key, result *engine.Result) {
	names := result.Trace.Barred()
	if len(names) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish()
	for _, name := range names {
		if id, known := f.snapshot.ID(name); !known || !f.snapshot.Cluster(id).Withdrawing() {
			f.enqueue(key, explain.Cause{Kind: KindManager, What: keptChanged})
			continue
		}
		if f.barred[name] == nil {
			f.barred[name] = map[fleet.Key]struct{}{}
		}
		f.barred[name][key] = struct{}{}
	}
}

// DeleteCluster records that a cluster is deleted.
func (f *Fleet) DeleteCluster(object *clusterv1.ManagedCluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.withdrawals.clusters, object.Name)
	delete(f.barred, object.Name)
	f.nextEdit().ForgetGoneScores(object.Name)
	f.clusterChanged(object.Name, f.nextEdit().DeleteCluster(object.Name), nil, true)
}

// clusterChanged ends a change of a cluster: it enqueues the placements that the change can affect. Terms is whether it changes what sets
// and predicates select by. Any other change is published with the next snapshot that is read.
func (f *Fleet) clusterChanged(name string, before, after *fleet.Cluster, terms bool) {
	var unmanaged []fleet.Key
	if terms {
		f.publish()
		unmanaged = append(f.unmanagedWith(name), f.keptWith(name)...)
	}
	if f.ready {
		f.enqueueAll(f.enqueue, merge(f.index.ClusterChanged(f.snapshot, before, after), unmanaged),
			func() explain.Cause { return clusterCause(name, before, after) })
	}
}

// HasClusters returns whether the fleet has each cluster in the given version or a newer one. Clusters that it lacks were deleted.
func (f *Fleet) HasClusters(clusters []clusterv1.ManagedCluster) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending != nil { // before the fleet is ready, publish does nothing
		f.snapshot, f.pending = f.pending.Snapshot(), nil
	}
	for i := range clusters {
		id, known := f.snapshot.ID(clusters[i].Name)
		if !known {
			continue
		}
		if cluster := f.snapshot.Cluster(id); cluster != nil && assumed.Newer(&clusters[i], cluster.Object) {
			return false
		}
	}
	return true
}

// SetScore records an add-on score.
func (f *Fleet) SetScore(object *clusterv1alpha1.AddOnPlacementScore) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit, score := f.nextEdit(), fleet.NewScore(object)
	f.rememberLost(edit, object.Namespace, score)
	if edit.SetScore(object.Namespace, score) {
		f.scoreChanged(object, changed)
	}
}

// DeleteScore records that an add-on score is deleted.
func (f *Fleet) DeleteScore(object *clusterv1alpha1.AddOnPlacementScore) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit, gone := f.nextEdit(), &fleet.Score{Resource: object.Name, Gone: true}
	f.rememberLost(edit, object.Namespace, gone)
	if len(gone.Lost) > 0 && edit.SetScore(object.Namespace, gone) || len(gone.Lost) == 0 && edit.DeleteScore(object.Namespace, object.Name) {
		f.scoreChanged(object, deleted)
	}
}

// rememberLost records in a new score of a selected cluster the values that it no longer has. They count for a time.
func (f *Fleet) rememberLost(edit *fleet.Edit, cluster string, score *fleet.Score) {
	if f.rules.ExpressionHold == 0 {
		return
	}
	before := edit.Score(cluster, score.Resource)
	if _, selected := edit.Cluster(cluster); (selected || f.bequests[cluster] > 0) && before != nil {
		now := f.clock.Now()
		score.RememberLost(before, now, now.Add(-f.rules.ExpressionHold))
	}
}

// scoreChanged enqueues the placements that read a score.
func (f *Fleet) scoreChanged(object *clusterv1alpha1.AddOnPlacementScore, what string) {
	id, known := f.snapshot.ID(object.Namespace)
	if !f.ready || !known {
		return
	}
	f.enqueueAll(f.enqueueScored, f.index.ScoreChanged(f.snapshot.Cluster(id), object.Name),
		func() explain.Cause { return causeOf(kindScore, object, what) })
}

// nextEdit counts a change and returns the edit for it.
func (f *Fleet) nextEdit() *fleet.Edit {
	f.changes++
	if f.pending == nil {
		f.pending = f.snapshot.Edit()
	}
	return f.pending
}

// publish puts the pending changes into the snapshot, once the fleet is ready.
func (f *Fleet) publish() {
	if f.ready && f.pending != nil {
		f.snapshot, f.pending = f.pending.Snapshot(), nil
	}
}

// enqueueAll enqueues placements with a cause.
func (f *Fleet) enqueueAll(enqueue func(fleet.Key, explain.Cause), keys []fleet.Key, why func() explain.Cause) {
	if len(keys) == 0 {
		return
	}
	cause := why()
	for _, key := range keys {
		enqueue(key, cause)
	}
}

// unmanagedWith returns the unmanaged placements whose slices name a cluster.
func (f *Fleet) unmanagedWith(cluster string) []fleet.Key {
	return f.unmanagedWhere(func(_ fleet.Key, clusters map[string]struct{}) bool {
		_, found := clusters[cluster]
		return found
	})
}

// keptWith returns the placements that keep a cluster without a decision.
func (f *Fleet) keptWith(cluster string) []fleet.Key {
	var out []fleet.Key
	for key, clusters := range f.kept {
		if _, found := clusters[cluster]; found {
			out = append(out, key)
		}
	}
	return out
}

func (f *Fleet) unmanagedWhere(holds func(fleet.Key, map[string]struct{}) bool) []fleet.Key {
	var out []fleet.Key
	for key, clusters := range f.unmanaged {
		if holds(key, clusters) {
			out = append(out, key)
		}
	}
	return out
}

// merge returns the placements of two lists, each once: a disabled placement may read the cluster and have it in its slices.
func merge(indexed, unmanaged []fleet.Key) []fleet.Key {
	if len(unmanaged) == 0 {
		return indexed
	}
	out := slices.Concat(unmanaged, indexed)
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out)
}
