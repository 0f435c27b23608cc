package live

import (
	"fmt"
	"maps"
	"slices"
	"time"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// Going returns the right by which a placement has clusters and that is being withdrawn, in words; empty for none. Until its grace is over,
// nothing new is to be delivered by it.
func (s *Stored) Going(key fleet.Key, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.placements[key]
	if !s.ready || !known {
		return ""
	}
	return s.fleet.going(key, p.retained, now)
}

// going returns what Stored.Going does. Retained are the clusters that stay because the manager started a short time ago.
func (f *Fleet) going(key fleet.Key, retained []string, now time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &f.withdrawals
	uses := func(set string) bool {
		compiled := f.programs[key]
		return compiled == nil || len(compiled.ClusterSets) == 0 || slices.Contains(compiled.ClusterSets, set)
	}
	for _, set := range slices.Sorted(maps.Keys(w.sets)) {
		if _, bound := f.boundTo[set][key.Namespace]; bound && uses(set) {
			return "the ManagedClusterSet " + set + " is gone"
		}
	}
	for _, binding := range slices.SortedFunc(maps.Keys(w.bindings), fleet.Key.Compare) {
		if binding.Namespace == key.Namespace && uses(binding.Name) {
			return "the ManagedClusterSetBinding " + binding.Name + " is gone"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		_, leaves := w.clusters[name].facts[fact{fleet.Label, clusterv1beta2.ClusterSetLabel}]
		if id, known := f.snapshot.ID(name); leaves && known && f.snapshot.Incumbents(key).Has(id) {
			return "the cluster " + name + " has left its set"
		}
	}
	if len(retained) > 0 && now.Before(f.retainUntil) {
		return fmt.Sprintf("%s no longer qualified when the manager started", phrase.Join(retained, phrase.MaxNames))
	}
	return ""
}
