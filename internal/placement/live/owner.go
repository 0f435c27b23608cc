package live

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source"
)

// assignOwner determines the placement that a slice belongs to.
func (s *Stored) assignOwner(name fleet.Key, slice *sliceState) {
	object := slice.cached
	if object == nil {
		object = slice.own.Get()
	}
	before := slice.owner
	slice.owner = source.OwnerOf(object, func(key fleet.Key) bool { _, ok := s.placements[key]; return ok })
	if before != slice.owner && before != (fleet.Key{}) {
		removeMember(s.slicesOf, before, name)
		s.publishDecisions(before)
	}
	addMember(s.slicesOf, slice.owner, name)
}

// reassignOwners determines the owners of all slices that mention a placement after it is created or deleted.
func (s *Stored) reassignOwners(key fleet.Key) {
	for name := range s.mentionedBy[key] {
		slice := s.slices[name]
		before := slice.owner
		if s.assignOwner(name, slice); slice.owner != before {
			s.sliceObserved(name, slice)
		}
	}
}

// indexMentions records which placements a slice mentions.
func (s *Stored) indexMentions(name fleet.Key, slice *sliceState, object *clusterv1beta1.PlacementDecision) {
	for _, key := range slice.mentions {
		removeMember(s.mentionedBy, key, name)
	}
	slice.mentions = mentionedPlacements(object)
	for _, key := range slice.mentions {
		addMember(s.mentionedBy, key, name)
	}
}

// mentionedPlacements returns the placements that a slice names, in its name or in its label.
func mentionedPlacements(object *clusterv1beta1.PlacementDecision) []fleet.Key {
	var out []fleet.Key
	if key, _, ok := plan.Owner(object); ok {
		out = append(out, key)
	}
	if label := object.Labels[clusterv1beta1.PlacementLabel]; label != "" {
		out = append(out, fleet.Key{Namespace: object.Namespace, Name: label})
	}
	return out
}
