package live

import (
	"slices"
	"time"

	"github.com/berth-project/berth/engine/fleet"
)

// Graces returns what is gone and keeps clusters in placements, in the order of kinds and names.
func (s *Stored) Graces() []Grace {
	out, waits := s.fleet.graces(), s.goesWithDefinition()
	for i := range out {
		out[i].Waits = waits
	}
	return out
}

// EndGrace lets the grace of an object end now, and reports whether it has one.
func (s *Stored) EndGrace(kind string, key fleet.Key) bool { return s.fleet.endGrace(kind, key) }

// Going returns the clusters that a placement has by a right that is being withdrawn, each with that right in words; nil for none. Until
// its grace is over, nothing new is to be delivered to them.
func (s *Stored) Going(key fleet.Key, now time.Time) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.placements[key]
	if !s.ready || !known {
		return nil
	}
	return s.fleet.going(key, p.retained, now)
}

// going returns what Stored.Going does. Retained are the clusters that stay because the manager started a short time ago.
func (f *Fleet) going(key fleet.Key, retained []string, now time.Time) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish()
	if !now.Before(f.retainUntil) {
		retained = nil
	}
	w := &f.withdrawals
	if len(w.sets)+len(w.bindings)+len(w.clusters)+len(retained) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, name := range retained {
		out[name] = "they no longer qualified when the manager started"
	}
	for id := range f.snapshot.Incumbents(key).All() {
		cluster := f.snapshot.Cluster(id)
		if cluster == nil {
			continue
		}
		if right := f.rightGoing(key, cluster); right != "" {
			out[cluster.Name()] = right
		}
	}
	return out
}

// rightGoing returns by which right a cluster leaves a placement; empty if it has another.
func (f *Fleet) rightGoing(key fleet.Key, cluster *fleet.Cluster) string {
	stored, going := cluster, ""
	if cluster.Withdrawing() {
		stored = cluster.Stored
	}
	for _, name := range f.snapshot.BoundSets(key.Namespace) {
		set, exists := f.snapshot.Set(name)
		if !exists || !f.uses(key, name) {
			continue
		}
		switch withdrawing := f.snapshot.Withdrawing(key.Namespace, name); {
		case !withdrawing && set.Has(stored):
			return ""
		case withdrawing && set.Has(cluster):
			going = "the ManagedClusterSet " + name + " or its binding is gone"
		case set.Has(cluster):
			going = "they have left the ManagedClusterSet " + name
		}
	}
	return going
}

// uses reports whether a placement may choose from a set that is bound to its namespace.
func (f *Fleet) uses(key fleet.Key, set string) bool {
	compiled := f.programs[key]
	return compiled == nil || len(compiled.ClusterSets) == 0 || slices.Contains(compiled.ClusterSets, set)
}
