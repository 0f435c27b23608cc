package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// MissingSet is a set that a placement names or its namespace is bound to, and that it cannot choose from.
type MissingSet struct {
	Name string `json:"name"`
	// Missing is the kind of the object that does not exist: ManagedClusterSet or ManagedClusterSetBinding. Whether a set exists that is not
	// bound is not shown.
	Missing string `json:"missing"`
}

const (
	kindSet     = "ManagedClusterSet"
	kindBinding = "ManagedClusterSetBinding"
)

// String returns what is missing, and what to do.
func (m MissingSet) String() string {
	if m.Missing == kindSet {
		return fmt.Sprintf("ManagedClusterSet %s is bound to the namespace and does not exist: create it, or delete its binding.", m.Name)
	}
	return fmt.Sprintf("ManagedClusterSet %s is not bound to the namespace: create the ManagedClusterSetBinding %s, or take the set out of "+
		"spec.clusterSets.", m.Name, m.Name)
}

// missingSets returns the sets that a placement cannot choose from, by name. Requested are those of its spec; none means all bound sets.
func missingSets(s *fleet.Snapshot, namespace string, requested []string) []MissingSet {
	bound, named := s.BoundSets(namespace), fleet.SetNameFilter(requested)
	var out []MissingSet
	for _, name := range bound {
		if _, exists := s.Set(name); !exists && named(name) {
			out = append(out, MissingSet{name, kindSet})
		}
	}
	for _, name := range requested {
		if !slices.Contains(bound, name) {
			out = append(out, MissingSet{name, kindBinding})
		}
	}
	slices.SortFunc(out, func(a, b MissingSet) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(out)
}
