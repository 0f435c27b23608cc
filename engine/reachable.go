package engine

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// Revoked returns the clusters that a namespace may no longer use, in the given order: clusters that do not exist, and clusters
// in no set bound to the namespace. While a bound set is unreadable, every existing cluster may be in it. A cluster that is
// being deleted is reachable until it is gone. While the grace after a start lasts, so is every existing cluster.
func Revoked(s *fleet.Snapshot, namespace string, clusters []string) []string {
	var bound []*fleet.Set
	for _, name := range s.BoundSets(namespace) {
		if set, exists := s.Set(name); exists {
			bound = append(bound, set)
		}
	}
	var out []string
	for _, name := range clusters {
		var cluster *fleet.Cluster
		if id, known := s.ID(name); known {
			cluster = s.Cluster(id)
		}
		reachable := func(set *fleet.Set) bool { return !set.Valid() || set.Has(cluster) }
		if cluster == nil || !s.Now.Before(s.Retention.Until) && !slices.ContainsFunc(bound, reachable) {
			out = append(out, name)
		}
	}
	return out
}

// Unreachable counts the selected clusters of a placement that exist and are in none of its sets: they leave. While one of its sets is
// unreadable, no cluster leaves.
func Unreachable(s *fleet.Snapshot, key fleet.Key, clusterSets []string) int {
	incumbents := incumbentsOf(s, key)
	return int(incumbents.DifferenceCardinality(reachable(s, key.Namespace, clusterSets, incumbents).candidates))
}
