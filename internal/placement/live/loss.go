package live

import (
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// Loss is what placements lose by a change of a set or a binding.
type Loss struct{ Placements, Namespaces, Clusters int }

// LossBySet returns what placements would lose if a set had another selector; nil: if it were deleted.
func (s *Stored) LossBySet(name string, edited *clusterv1beta2.ManagedClusterSet) Loss {
	s.fleet.mu.Lock()
	namespaces := s.fleet.namespacesOf(name)
	s.fleet.mu.Unlock()
	return s.fleet.loss(namespaces, func(edit *fleet.Edit) {
		if edited == nil {
			edit.DeleteSet(name)
		} else {
			edit.SetSet(fleet.SetOfSpec(edited))
		}
	})
}

// LossByBinding returns what placements would lose without a binding.
func (s *Stored) LossByBinding(namespace, set string) Loss {
	return s.fleet.loss([]string{namespace}, func(edit *fleet.Edit) { edit.Unbind(namespace, set) })
}

// loss returns what the placements of namespaces lose by a change. It works on a snapshot, so that it delays no decision.
func (f *Fleet) loss(namespaces []string, change func(*fleet.Edit)) Loss {
	f.mu.Lock()
	f.publish()
	before, requested := f.snapshot, map[fleet.Key][]string{}
	for _, namespace := range namespaces {
		for _, key := range f.index.ByNamespace(namespace) {
			if compiled := f.programs[key]; compiled != nil {
				requested[key] = compiled.ClusterSets
			}
		}
	}
	f.mu.Unlock()
	edit := before.Edit()
	change(edit)
	after, out, touched := edit.Snapshot(), Loss{}, map[string]bool{}
	for key, clusterSets := range requested {
		lost := engine.Unreachable(after, key, clusterSets) - engine.Unreachable(before, key, clusterSets)
		if lost <= 0 {
			continue
		}
		touched[key.Namespace] = true
		out.Placements, out.Clusters = out.Placements+1, out.Clusters+lost
	}
	out.Namespaces = len(touched)
	return out
}
