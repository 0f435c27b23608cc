package enginetest

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
)

// Live updates a state as a manager does. It has one snapshot that is edited event by event, and programs that are
// compiled once for each spec. Its index finds the placements to decide again.
type Live struct {
	State    *State
	Snapshot *fleet.Snapshot
	// Woken are the placements that the last events may change.
	Woken map[fleet.Key]bool

	env      *celenv.Env
	index    *wake.Index
	programs map[fleet.Key]*program.Program
	faults   map[fleet.Key]field.ErrorList
}

// NewLive returns a Live for a state. From then on the state must only change through it.
func NewLive(w *State, env *celenv.Env) *Live {
	l := &Live{
		State: w, Snapshot: w.Snapshot(), Woken: map[fleet.Key]bool{}, env: env, index: wake.NewIndex(),
		programs: map[fleet.Key]*program.Program{}, faults: map[fleet.Key]field.ErrorList{},
	}
	for _, key := range w.Keys() {
		l.SetPlacement(w.Placements[key])
	}
	return l
}

// Decide runs the engine for one placement.
func (l *Live) Decide(key fleet.Key) *engine.Result {
	s := l.Snapshot.At(l.State.Now)
	defer func() {
		if s.EmptySet().Len() > 0 {
			panic("enginetest: a run wrote to the empty set that all share")
		}
	}()
	result := engine.Decide(s, key, l.programs[key], l.faults[key], plan.ReadLedger(l.State.Placements[key]))
	l.index.Await(key, result.Unknown)
	return result
}

// UsesBalance reports whether other placements' decisions count for a placement. By design they do not trigger a decision.
func (l *Live) UsesBalance(key fleet.Key) bool {
	compiled := l.programs[key]
	return compiled != nil && compiled.HasPrioritizer(program.Balance)
}

func (l *Live) edit(change func(e *fleet.Edit)) {
	e := l.Snapshot.Edit()
	change(e)
	l.Snapshot = e.Snapshot()
}

func (l *Live) wake(keys []fleet.Key) {
	for _, key := range keys {
		l.Woken[key] = true
	}
}

// SetCluster adds or replaces a cluster.
func (l *Live) SetCluster(object *clusterv1.ManagedCluster) {
	l.State.Add(object)
	after := fleet.NewCluster(object)
	var before *fleet.Cluster
	l.edit(func(e *fleet.Edit) { before = e.SetCluster(after) })
	l.wake(l.index.ClusterChanged(l.Snapshot, before, after))
}

// DeleteCluster removes a cluster.
func (l *Live) DeleteCluster(name string) {
	delete(l.State.Clusters, name)
	var before *fleet.Cluster
	l.edit(func(e *fleet.Edit) { before = e.DeleteCluster(name) })
	l.wake(l.index.ClusterChanged(l.Snapshot, before, nil))
}

// SetSet adds or replaces a set.
func (l *Live) SetSet(object *clusterv1beta2.ManagedClusterSet) {
	l.State.Add(object)
	l.edit(func(e *fleet.Edit) { e.SetSet(fleet.NewSet(object)) })
	l.reindex(l.index.BySet(object.Name))
}

// DeleteSet removes a set.
func (l *Live) DeleteSet(name string) {
	delete(l.State.Sets, name)
	l.edit(func(e *fleet.Edit) { e.DeleteSet(name) })
	l.reindex(l.index.BySet(name))
}

// Bind binds a set to a namespace.
func (l *Live) Bind(namespace, set string) {
	l.State.Bind(namespace, set)
	l.edit(func(e *fleet.Edit) { e.Bind(namespace, set) })
	l.reindex(l.index.ByNamespace(namespace))
}

// Unbind removes a binding.
func (l *Live) Unbind(namespace, set string) {
	delete(l.State.Bindings[namespace], set)
	l.edit(func(e *fleet.Edit) { e.Unbind(namespace, set) })
	l.reindex(l.index.ByNamespace(namespace))
}

func (l *Live) reindex(keys []fleet.Key) {
	for _, key := range keys {
		l.index.Put(l.Snapshot, key, l.programs[key])
	}
	l.wake(keys)
}

// SetScore adds or replaces an add-on score.
func (l *Live) SetScore(object *clusterv1alpha1.AddOnPlacementScore) {
	l.State.Add(object)
	changed := false
	l.edit(func(e *fleet.Edit) { changed = e.SetScore(object.Namespace, fleet.NewScore(object)) })
	l.scoreChanged(object.Namespace, object.Name, changed)
}

// DeleteScore removes an add-on score.
func (l *Live) DeleteScore(key ScoreKey) {
	delete(l.State.Scores, key)
	changed := false
	l.edit(func(e *fleet.Edit) { changed = e.DeleteScore(key.Cluster, key.Resource) })
	l.scoreChanged(key.Cluster, key.Resource, changed)
}

func (l *Live) scoreChanged(cluster, resource string, changed bool) {
	if id, known := l.Snapshot.ID(cluster); known && changed {
		l.wake(l.index.ScoreChanged(l.Snapshot.Cluster(id), resource))
	}
}

// SetPlacement adds or replaces a placement.
func (l *Live) SetPlacement(object *clusterv1beta1.Placement) {
	l.State.Add(object)
	key := fleet.Key{Namespace: object.Namespace, Name: object.Name}
	l.programs[key], l.faults[key] = program.Compile(object, l.env)
	l.reindex([]fleet.Key{key})
}

// SlicesChanged records that the slices of a placement have changed.
func (l *Live) SlicesChanged(key fleet.Key) {
	l.edit(func(e *fleet.Edit) { e.SetSlices(key, l.State.decided()[key]) })
	l.Woken[key] = true
	for other := range l.State.Placements {
		if l.UsesBalance(other) {
			l.Woken[other] = true
		}
	}
}
