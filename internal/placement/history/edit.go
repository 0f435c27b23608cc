package history

import (
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/placement/live"
)

// Unknown returns what a placement names and no cluster in its reach has, as texts. It returns nothing where the fleet is not known:
// only the leader has it at hand.
func (r *Record) Unknown(compiled *program.Program) []string {
	leads := r.leader.Load()
	if leads == nil || compiled == nil {
		return nil
	}
	snapshot := leads.stored.Fleet(r.options.Clock.Now())
	return append(engine.UnknownReferences(snapshot, compiled), engine.UnknownNames(snapshot, compiled)...)
}

// Going returns the clusters that a placement has by a right that is being withdrawn, each with that right in words. It is nil for none,
// and where the fleet is not known: only the leader has it at hand.
func (r *Record) Going(placement types.NamespacedName) map[string]string {
	leads := r.leader.Load()
	if leads == nil {
		return nil
	}
	return leads.stored.Going(fleet.Key{Namespace: placement.Namespace, Name: placement.Name}, r.options.Clock.Now())
}

// Graces returns what is gone and still counts. Only the leader has it: ErrIdle from another process.
func (r *Record) Graces() ([]live.Grace, error) {
	leads := r.leader.Load()
	if leads == nil {
		return nil, ErrIdle
	}
	return leads.stored.Graces(), nil
}

// EndGrace lets the grace of an object end now, and reports whether it has one. Only the leader can: ErrIdle from another process.
func (r *Record) EndGrace(kind string, object types.NamespacedName) (bool, error) {
	leads := r.leader.Load()
	if leads == nil {
		return false, ErrIdle
	}
	return leads.stored.EndGrace(kind, fleet.Key{Namespace: object.Namespace, Name: object.Name}), nil
}

// LossBySet returns what placements would lose if a set had another selector, or nil: if it were deleted. It is nothing where the fleet is
// not known: only the leader has it at hand.
func (r *Record) LossBySet(name string, edited *clusterv1beta2.ManagedClusterSet) live.Loss {
	leads := r.leader.Load()
	if leads == nil {
		return live.Loss{}
	}
	return leads.stored.LossBySet(name, edited)
}

// LossByBinding returns what placements would lose without a binding, by the same rule.
func (r *Record) LossByBinding(namespace, set string) live.Loss {
	leads := r.leader.Load()
	if leads == nil {
		return live.Loss{}
	}
	return leads.stored.LossByBinding(namespace, set)
}

// edited decides a placement with another spec, by some of the rules of the hub. Ok is false where that is not possible.
func (r *Record) edited(
	after *clusterv1beta1.Placement, compiled *program.Program, rules func(fleet.Rules) fleet.Rules,
) (result *engine.Result, ok bool) {
	leads := r.leader.Load()
	if leads == nil || compiled == nil {
		return nil, false
	}
	key := fleet.Key{Namespace: after.Namespace, Name: after.Name}
	now, known := leads.stored.Peek(key, r.options.Clock.Now())
	if !known || now.Stored.Placement.UID != after.UID {
		return nil, false
	}
	snapshot := *now.Snapshot
	snapshot.Rules = rules(snapshot.Rules)
	past := now.Ledger()
	past.SameSpec, past.Braked = false, nil // a brake keeps nothing that an edit removes
	past.ReferencesConfirmed, past.Confirmed = clusterv1beta1.ReferencesConfirmed(after), clusterv1beta1.EmptyingConfirmed(after)
	return engine.Decide(&snapshot, key, compiled, nil, past), true
}

// HeldByReference reports whether a placement with another spec would keep what is selected, since the spec names what no cluster in reach
// has.
func (r *Record) HeldByReference(after *clusterv1beta1.Placement, compiled *program.Program) bool {
	result, ok := r.edited(after, compiled, func(all fleet.Rules) fleet.Rules {
		return fleet.Rules{HoldUnknownReferences: all.HoldUnknownReferences}
	})
	return ok && result.Misconfigured.Reason == clusterv1beta1.ReasonReferenceHeld
}

// Lost returns how many clusters the next decision would take away if a placement had another spec, how many it has, and how many it
// would have then. What is held counts as lost: the caller reports the hold. Ok is false where that is not known: only the leader has the
// fleet at hand, and a new placement has no clusters.
func (r *Record) Lost(after *clusterv1beta1.Placement, compiled *program.Program) (lost, selected, then int, ok bool) {
	result, ok := r.edited(after, compiled, func(fleet.Rules) fleet.Rules { return fleet.Rules{} })
	if !ok {
		return 0, 0, 0, false
	}
	key, snapshot := result.Key, result.Trace.Snapshot
	stay := map[string]bool{}
	for _, name := range result.Clusters() {
		stay[name] = true
	}
	for id := range snapshot.Incumbents(key).All() {
		if snapshot.Cluster(id) == nil {
			continue
		}
		if selected++; !stay[snapshot.Name(id)] {
			lost++
		}
	}
	return lost, selected, result.Selected, true
}
