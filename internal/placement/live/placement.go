package live

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/kube/assumed"
)

// placementState is the state of one Placement.
type placementState struct {
	cached *clusterv1beta1.Placement
	// own is the last write of the status, or the status that needed no write.
	own assumed.Write[*clusterv1beta1.Placement]
	// specCount counts the specs so far; program and faults belong to the spec number compiledSpec.
	specCount, compiledSpec int
	program                 *program.Program
	faults                  field.ErrorList
	// retained are the selected clusters that did not qualify at the first decision, and stay for the grace after the start. decided is set
	// from that decision on.
	retained []string
	decided  bool
	// reached are those of them that a bound set had at that decision. They leave without a grace when no bound set has them any more: this
	// process has seen the right go.
	reached []string
	// failing has the selected clusters on which an expression fails because a claim or score is missing, each with the instant at which that
	// began. It is replaced, never changed.
	failing map[string]time.Time
	// braked are the selected clusters that a brake keeps, each with the reason, and reach are the sets of the last decision. Both are
	// replaced, never changed.
	braked map[string]string
	reach  []*fleet.Set
	// inherited are the decisions of a placement of the same name that was deleted shortly before, until a plan is stored.
	inherited []fleet.Slice
	// anew is set until then if that placement had the same spec.
	anew bool
	// dropped are slices that went before the first decision: the informer may show that before it shows that the placement is deleted.
	dropped []fleet.Slice
	// initialized is set once the slices found at the start count as written by this process.
	initialized bool
	// inProgress is set between Gather and Finish.
	inProgress bool
	// attempts are the contents that this process sent without a response, by slice. If the API server stored such a
	// content, it is a decision of this process. A cluster that readers may have seen selected must not become a newcomer
	// because a response was lost.
	attempts attempts
}

// current returns the newest known object.
func (p *placementState) current() *clusterv1beta1.Placement {
	return p.own.Stored(p.cached)
}

// managed returns whether Berth decides the placement.
func (p *placementState) managed() bool { return Managed(p.cached) }

// Managed returns whether Berth decides a placement: it is neither being deleted nor disabled by its annotation.
func Managed(object *clusterv1beta1.Placement) bool {
	return object.DeletionTimestamp.IsZero() && object.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true"
}

// SetPlacement records a placement from the API server. A write of this process enqueues nothing.
func (s *Stored) SetPlacement(object *clusterv1beta1.Placement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := placementKey(object)
	p, known := s.placements[key]
	if known && p.cached.UID != object.UID {
		s.removePlacement(key)
		known = false
	}
	if !known {
		s.placements[key] = s.inherit(object)
		s.reassignOwners(key)
		s.specChanged(key, created)
		return
	}
	before := p.cached
	p.cached = object
	p.own.Observe(object)
	if Managed(before) && !object.DeletionTimestamp.IsZero() {
		s.bequeath(key)
	}
	if !p.managed() {
		s.release(key, p)
	}
	switch {
	case before.Generation != object.Generation:
		p.specCount++
		s.specChanged(key, specChanged)
	case clusterv1beta1.EmptyingConfirmed(before) != clusterv1beta1.EmptyingConfirmed(object),
		clusterv1beta1.ReferencesConfirmed(before) != clusterv1beta1.ReferencesConfirmed(object):
		s.enqueue(key, causeFor(kindPlacement, key, emptyingConfirmed))
	case !clusterv1beta1.ExpressionsReleased(before).Equal(clusterv1beta1.ExpressionsReleased(object)):
		s.enqueue(key, causeFor(kindPlacement, key, expressionsReleased))
	case Managed(before) != Managed(object):
		s.enqueue(key, causeFor(kindPlacement, key, managementChanged))
	case !p.inProgress && p.changedExternally():
		s.enqueue(key, causeFor(kindPlacement, key, changedExternally))
	}
}

// specChanged enqueues a placement with a new spec. Gather compiles the spec.
func (s *Stored) specChanged(key fleet.Key, what string) {
	if s.ready {
		s.enqueue(key, causeFor(kindPlacement, key, what))
	}
}

// changedExternally returns whether the stored status differs from what this process left.
func (p *placementState) changedExternally() bool {
	written := p.own.Get()
	return written != nil && assumed.Newer(p.cached, written) && !equality.Semantic.DeepEqual(written.Status, p.cached.Status)
}

// DeletePlacement records that a placement is deleted. It is enqueued once more, so that metrics and records drop it.
func (s *Stored) DeletePlacement(object *clusterv1beta1.Placement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removePlacement(placementKey(object))
	if s.ready {
		s.enqueue(placementKey(object), causeOf(kindPlacement, object, deleted))
	}
}

func (s *Stored) removePlacement(key fleet.Key) {
	if p, known := s.placements[key]; known {
		if p.managed() {
			s.bequeath(key)
		}
		s.recordFormer(key, p.cached.UID)
		s.release(key, p)
	}
	delete(s.placements, key)
	s.fleet.deleteProgram(key)
	s.reassignOwners(key)
	s.publishDecisions(key)
}

// release drops what this process stored of a placement that it no longer decides.
func (s *Stored) release(key fleet.Key, p *placementState) {
	p.own.Reset()
	p.initialized, p.attempts, p.inherited, p.anew, p.dropped = false, nil, nil, false, nil
	s.resetWrites(key)
	s.publishDecisions(key)
}

// resetWrites drops what this process stored of the slices of a placement.
func (s *Stored) resetWrites(key fleet.Key) {
	for name := range s.slicesOf[key] {
		slice := s.slices[name]
		slice.own.Reset()
		s.deleteIfGone(name, slice)
	}
}
