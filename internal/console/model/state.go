package model

import (
	"cmp"
	"slices"
	"sync"
	"time"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// State is the fleet at one instant, as far as its reader may see it, with the indexes that pages need. It is read-only.
type State struct {
	// Version differs between the states of a source. It is never 0.
	Version uint64
	// At is the instant of the state.
	At time.Time
	// Note is what the state lacks, because the reader may not list it; empty if it lacks nothing.
	Note string
	// Bundle has the objects. Its clusters are sorted by name.
	Bundle *file.Bundle

	sets       []*fleet.Set
	index      map[string]int
	placements map[string][]fleet.Key
	counts     []int
	grid       func() *Grid
	// memo has what was computed once for the state, by key.
	memo sync.Map
}

// Memo returns what compute returns for a state, which is computed once. The key must name the computation, and the result is shared and
// read-only.
func Memo[T any](s *State, key string, compute func() T) T {
	found, _ := s.memo.LoadOrStore(key, sync.OnceValue(compute))
	once, ok := found.(func() T)
	if !ok {
		panic("the key " + key + " has results of two types")
	}
	return once()
}

// NewState returns the state of a fleet. It sorts the clusters and the sets of the bundle, which must not change afterwards.
func NewState(bundle *file.Bundle, version uint64, at time.Time, note string) *State {
	s := &State{Version: version, At: at, Note: note, Bundle: bundle, index: map[string]int{}, placements: map[string][]fleet.Key{}}
	slices.SortFunc(bundle.Clusters, func(a, b *clusterv1.ManagedCluster) int { return cmp.Compare(a.Name, b.Name) })
	for i, cluster := range bundle.Clusters {
		s.index[cluster.Name] = i
	}
	for _, set := range bundle.Sets {
		s.sets = append(s.sets, fleet.NewSet(set))
	}
	slices.SortFunc(s.sets, func(a, b *fleet.Set) int { return cmp.Compare(a.Name, b.Name) })
	s.count()
	s.grid = sync.OnceValue(s.newGrid)
	return s
}

// count indexes the decisions by cluster.
func (s *State) count() {
	for key, stored := range s.Bundle.Decisions {
		for _, slice := range stored {
			for _, name := range plan.Clusters(slice) {
				if keys := s.placements[name]; !slices.Contains(keys, key) {
					s.placements[name] = append(keys, key)
				}
			}
		}
	}
	s.counts = make([]int, len(s.Bundle.Clusters))
	for name, keys := range s.placements {
		slices.SortFunc(keys, fleet.Key.Compare)
		if i, known := s.index[name]; known {
			s.counts[i] = len(keys)
		}
	}
}

// Cluster returns a cluster by name. Ok is false if the reader sees no such object.
func (s *State) Cluster(name string) (cluster *clusterv1.ManagedCluster, ok bool) {
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.Bundle.Clusters[i], true
}

// Placement returns a placement. Ok is false if the reader sees no such object.
func (s *State) Placement(key fleet.Key) (placement *clusterv1beta1.Placement, ok bool) {
	at, found := slices.BinarySearchFunc(s.Bundle.Placements, key, func(p *clusterv1beta1.Placement, key fleet.Key) int {
		return file.KeyOf(p).Compare(key)
	})
	if !found {
		return nil, false
	}
	return s.Bundle.Placements[at], true
}

// SetsOf returns the names of the sets that have a cluster.
func (s *State) SetsOf(cluster *clusterv1.ManagedCluster) []string {
	var out []string
	member := fleet.NewCluster(cluster)
	for _, set := range s.sets {
		if set.Has(member) {
			out = append(out, set.Name)
		}
	}
	return out
}

// SelectedBy returns the placements that have selected a cluster, by namespace and name.
func (s *State) SelectedBy(cluster string) []fleet.Key { return s.placements[cluster] }

// ScoresOf returns the scores that add-ons publish about a cluster, by name.
func (s *State) ScoresOf(cluster string) []*clusterv1alpha1.AddOnPlacementScore {
	var out []*clusterv1alpha1.AddOnPlacementScore
	for _, score := range s.Bundle.Scores {
		if score.Namespace == cluster {
			out = append(out, score)
		}
	}
	slices.SortFunc(out, func(a, b *clusterv1alpha1.AddOnPlacementScore) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
