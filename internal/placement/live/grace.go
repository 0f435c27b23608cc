package live

import (
	"maps"
	"slices"
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// The kinds of objects that have a grace.
const (
	GraceSet     = kindSet
	GraceBinding = kindBinding
	GraceCluster = kindCluster
)

// Grace is an object that is gone, or that has lost something, and still counts as it was.
type Grace struct {
	Kind, Namespace, Name string
	// Lost is what a cluster has lost, in words; empty where the object itself is gone.
	Lost string
	// Placements is how many placements keep clusters by it.
	Placements int
	// Since is when the first grace of the object began, Until when the last one ends.
	Since, Until time.Time
	// Waits is set while a definition, or what went with it, is missing: no grace ends then.
	Waits bool
}

// MaxGraces is how many objects with a grace are looked at: a fleet whose labels all change at once must not delay decisions.
const MaxGraces = 1000

// graces returns what is gone and keeps a cluster in a placement, in the order of kinds and names: sets, bindings, and the first MaxGraces
// clusters.
func (f *Fleet) graces() []Grace {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish()
	w, out := &f.withdrawals, []Grace(nil)
	add := func(found Grace, keptIn []fleet.Key) {
		if found.Placements = len(keptIn); found.Placements > 0 {
			out = append(out, found)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.sets)) {
		add(w.graceOf(GraceSet, fleet.Key{Name: name}, w.sets[name]), f.keptByRight(name, f.namespacesOf(name)))
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.bindings), fleet.Key.Compare) {
		add(w.graceOf(GraceBinding, key, w.bindings[key]), f.keptByRight(key.Name, []string{key.Namespace}))
	}
	names := slices.Sorted(maps.Keys(w.clusters))
	for _, name := range names[:min(len(names), MaxGraces)] {
		add(w.graceOfCluster(name), f.keptByFacts(name))
	}
	return out
}

// CountGraces returns how many objects are gone, or have lost something, and keep a cluster in a placement.
func (s *Stored) CountGraces() int { return len(s.fleet.graces()) }

// keptByFacts returns the placements that have a cluster and may lose it when what it has lost no longer counts.
func (f *Fleet) keptByFacts(name string) []fleet.Key {
	id, known := f.snapshot.ID(name)
	if !known || !f.snapshot.Cluster(id).Withdrawing() {
		return nil
	}
	cluster := f.snapshot.Cluster(id)
	return slices.DeleteFunc(f.index.ClusterChanged(f.snapshot, cluster, cluster.Stored), func(key fleet.Key) bool {
		return !f.snapshot.Incumbents(key).Has(id)
	})
}

// keptByRight returns the placements of namespaces that have a cluster of a set.
func (f *Fleet) keptByRight(name string, namespaces []string) []fleet.Key {
	set, known := f.snapshot.Set(name)
	if !known {
		return nil
	}
	var out []fleet.Key
	for _, namespace := range namespaces {
		for _, key := range f.index.ByNamespace(namespace) {
			if f.uses(key, name) && f.hasClusterOf(key, set) {
				out = append(out, key)
			}
		}
	}
	return out
}

func (f *Fleet) hasClusterOf(key fleet.Key, set *fleet.Set) bool {
	for id := range f.snapshot.Incumbents(key).All() {
		if cluster := f.snapshot.Cluster(id); cluster != nil && set.Has(cluster) {
			return true
		}
	}
	return false
}

// endGrace lets the grace of an object end now. Its clusters leave once a live read has confirmed that the cause is still there. It
// reports whether the object has a grace.
func (f *Fleet) endGrace(kind string, key fleet.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, now, ok := &f.withdrawals, f.clock.Now(), false
	switch kind {
	case GraceSet:
		if _, ok = w.sets[key.Name]; ok {
			w.sets[key.Name] = now
		}
	case GraceBinding:
		if _, ok = w.bindings[key]; ok {
			w.bindings[key] = now
		}
	case GraceCluster:
		var moving *withdrawingCluster
		if moving, ok = w.clusters[key.Name]; ok {
			for of, still := range moving.facts {
				moving.facts[of] = withdrawnFact{still.value, now}
			}
		}
	}
	return ok
}

// graceOf returns the grace of an object that is gone.
func (w *withdrawals) graceOf(kind string, key fleet.Key, until time.Time) Grace {
	return Grace{Kind: kind, Namespace: key.Namespace, Name: key.Name, Since: until.Add(-w.grace), Until: until}
}

// graceOfCluster returns the grace of a cluster that has one.
func (w *withdrawals) graceOfCluster(name string) Grace {
	out, lost := Grace{Kind: GraceCluster, Name: name}, []string(nil)
	for of, still := range w.clusters[name].facts {
		lost = append(lost, of.source.String()+" "+of.key+"="+still.value)
		if since := still.until.Add(-w.factGrace(of)); out.Since.IsZero() || since.Before(out.Since) {
			out.Since = since
		}
		if still.until.After(out.Until) {
			out.Until = still.until
		}
	}
	slices.Sort(lost)
	out.Lost = phrase.Join(lost, phrase.MaxNames)
	return out
}
