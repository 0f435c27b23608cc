package live

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// publishDecisions passes the decisions of a placement to the fleet, once Stored is ready. They are the decisions that this process stored,
// or the decisions in the informer if this process has not decided the placement.
func (s *Stored) publishDecisions(key fleet.Key) {
	if !s.ready {
		return
	}
	s.updateUnmanaged(key)
	s.updateFormer(key)
	s.fleet.setDecisions(key, s.decided(key), s.unmanaged[key])
}

// decided returns the decisions of a placement: those that this process stored, with those that the placement inherited and that are not
// stored yet, or those in the informer if this process has not decided the placement.
func (s *Stored) decided(key fleet.Key) []fleet.Slice {
	p, known := s.placements[key]
	decidedHere := known && p.initialized
	var out []fleet.Slice
	for name := range s.slicesOf[key] {
		object := s.slices[name].cached
		if decidedHere {
			object = s.slices[name].own.Get()
		}
		if object != nil {
			out = append(out, plan.ReadSlice(object))
		}
	}
	if !decidedHere {
		return out
	}
	return addSlices(out, p.inherited...)
}

// addSlices adds the slices whose number no other has.
func addSlices(out []fleet.Slice, added ...fleet.Slice) []fleet.Slice {
	for _, slice := range added {
		if !slices.ContainsFunc(out, func(other fleet.Slice) bool { return other.Number == slice.Number }) {
			out = append(out, slice)
		}
	}
	return out
}

// inheritance is the decisions of a deleted placement. A placement that is made again under its name before the grace ends starts from
// them.
type inheritance struct {
	slices []fleet.Slice
	// spec, braked and reach are those of the last decision.
	spec   *clusterv1beta1.PlacementSpec
	braked map[string]string
	reach  []*fleet.Set
	// until is zero while the definition of placements or of slices is gone.
	until time.Time
}

// ended reports whether the grace is over.
func (i inheritance) ended(now time.Time) bool { return !i.until.IsZero() && !now.Before(i.until) }

// goesWithDefinition reports whether what is deleted now goes with its definition.
func (s *Stored) goesWithDefinition() bool { return s.keeps != nil && s.keeps() }

// beginInheritances begins the grace of the inheritances that waited for a definition, once all are there.
func (s *Stored) beginInheritances(now time.Time) {
	if s.goesWithDefinition() {
		return
	}
	for key, of := range s.inheritances {
		if of.until.IsZero() {
			of.until = now.Add(s.grace)
			s.inheritances[key] = of
		}
	}
}

// bequeath keeps the decisions of a placement that is being deleted for a placement of the same name.
func (s *Stored) bequeath(key fleet.Key) {
	p, out, with := s.placements[key], inheritance{slices: s.decided(key)}, s.goesWithDefinition()
	if p != nil {
		out.slices = addSlices(out.slices, p.dropped...)
		out.spec, out.braked, out.reach = &p.cached.Spec, p.braked, p.reach
	}
	switch {
	case !s.ready || len(out.slices) == 0:
	case with:
		s.setInheritance(key, out)
	case s.grace > 0:
		out.until = s.clock.Now().Add(s.grace)
		s.setInheritance(key, out)
	}
}

// setInheritance records the decisions of a deleted placement. What their clusters lose from now on is withdrawn like what selected
// clusters lose.
func (s *Stored) setInheritance(key fleet.Key, of inheritance) {
	s.endInheritance(key)
	s.inheritances[key] = of
	s.fleet.bequeathed(of.slices, 1)
}

// endInheritance drops the decisions of a deleted placement.
func (s *Stored) endInheritance(key fleet.Key) {
	if of, known := s.inheritances[key]; known {
		s.fleet.bequeathed(of.slices, -1)
		delete(s.inheritances, key)
	}
}

// bequeathed counts the clusters of a deleted placement, or no longer.
func (f *Fleet) bequeathed(slices []fleet.Slice, by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, slice := range slices {
		for _, name := range slice.Clusters {
			if f.bequests[name] += by; f.bequests[name] == 0 {
				delete(f.bequests, name)
			}
		}
	}
}

// inherit returns a new placement with the decisions from which it starts; without any if no placement of its name was deleted within the
// grace.
func (s *Stored) inherit(object *clusterv1beta1.Placement) *placementState {
	key, out := placementKey(object), &placementState{cached: object, specCount: 1}
	found, known := s.inheritances[key]
	s.endInheritance(key)
	if !known || found.ended(s.clock.Now()) {
		return out
	}
	out.inherited, out.braked, out.reach = found.slices, found.braked, found.reach
	out.anew = found.spec != nil && equality.Semantic.DeepEqual(*found.spec, object.Spec)
	return out
}

// setDecisions records what Stored counts as the decisions of a placement. Unmanaged are the clusters in slices that Berth wrote and
// does not decide; nil without such slices. It must not be changed any more.
func (f *Fleet) setDecisions(key fleet.Key, decided []fleet.Slice, unmanaged map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unmanaged[key] = unmanaged; unmanaged == nil {
		delete(f.unmanaged, key)
	}
	if f.nextEdit().SetSlices(key, decided) {
		f.publish()
	}
}

// updateUnmanaged records the clusters in the slices of a placement that Berth wrote and does not decide.
func (s *Stored) updateUnmanaged(key fleet.Key) {
	delete(s.unmanaged, key)
	if p, known := s.placements[key]; known && p.managed() {
		return
	}
	for _, object := range s.currentSlices(key) {
		if !plan.WrittenByBerth(object) {
			continue
		}
		if s.unmanaged[key] == nil {
			s.unmanaged[key] = map[string]struct{}{}
		}
		for _, name := range plan.Clusters(object) {
			s.unmanaged[key][name] = struct{}{}
		}
	}
}

// recordFormer records the UID of a deleted placement that still controls slices.
func (s *Stored) recordFormer(key fleet.Key, uid types.UID) {
	for name := range s.slicesOf[key] {
		for _, object := range []*clusterv1beta1.PlacementDecision{s.slices[name].cached, s.slices[name].own.Get()} {
			if object == nil {
				continue
			}
			if controller := metav1.GetControllerOf(object); controller != nil && controller.UID == uid {
				s.former[key] = uid
				return
			}
		}
	}
}

// updateFormer removes a deleted placement whose slices are gone.
func (s *Stored) updateFormer(key fleet.Key) {
	uid, known := s.former[key]
	if !known {
		return
	}
	delete(s.former, key)
	s.recordFormer(key, uid)
}
