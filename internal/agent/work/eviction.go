package work

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/agent/client"
)

// AllowEvictionAnnotation on a record lets the agent evict it although the brake holds.
const AllowEvictionAnnotation = "berth-project.io/allow-eviction"

// EvictionHeldAnnotation on a record has the reason why the objects stay although the hub lacks the work, until the work is back or an
// administrator allows the eviction.
const EvictionHeldAnnotation = "berth-project.io/eviction-held"

// Reasons in the annotation.
const (
	// HeldNamespaceDeleted means that the work went with the namespace of its cluster.
	HeldNamespaceDeleted = "NamespaceDeleted"
	// HeldHubRestored means that the hub returned to older data, which lacks the work.
	HeldHubRestored = "HubRestored"
	// HeldMemberRestored means that the member returned to older data, which has a record of a work that the hub lacks.
	HeldMemberRestored = "MemberRestored"
	// heldOtherCluster means that the record is of another cluster of the hub, whose agent runs on the same member. No record stores it.
	heldOtherCluster = "OtherCluster"
)

// DefaultEvictionGrace is how long a record stays after the hub has lost its work.
const DefaultEvictionGrace = time.Hour

const (
	// The brake holds where more than evictedAtOnce works are missing that are more than a part of all, or all of them.
	evictedAtOnce = 3
	evictedPart   = 5
	// heldInterval is how often the brake is looked at.
	heldInterval = 10 * time.Minute
)

// unmanaged looks at a record whose work the hub does not have: it is evicted after the grace period. A hub that was restored from an old
// backup, or lost its works, is the usual cause of many such records, and then the brake keeps them. The period counts from when this
// process read that the work is missing, by a clock that no change of the time moves. The stored start is for users only: an agent that was
// off, or a clock that jumps, evicts nothing.
func (p *pass) unmanaged() (time.Time, error) {
	err := p.controller.Hub.Get(p.ctx, client.ManifestWork(p.controller.Cluster, p.name), &workv1.ManifestWork{})
	if err == nil {
		return p.controller.Clock.Now().Add(time.Second), nil // the watch is behind
	}
	if !apierrors.IsNotFound(err) {
		return time.Time{}, err //nolint:wrapcheck // a hub that refuses the agent may have the work
	}
	if again, err := p.withoutDefinition(); err != nil || !again.IsZero() {
		return again, err
	}
	now := p.controller.Clock.Now()
	if p.whyHeld() != "" && !p.evictionAllowed() {
		p.state.missing = time.Time{}
		p.decide(true)
		return now.Add(heldInterval), nil
	}
	due := p.state.evictAt(now, p.controller.grace())
	if p.record.Status.EvictionStartTime == nil {
		p.controller.Log.Warn("the hub has lost a work; its objects stay until the grace period is over", "work", p.name, "grace",
			p.controller.grace())
		_, err := p.controller.patchRecord(p.ctx, p.record, map[string]any{"evictionStartTime": metav1.NewTime(now)})
		p.decide(false)
		return due, err
	}
	if now.Before(due) {
		p.decide(false)
		return due, nil
	}
	if missing, all := p.missing(); brakes(missing, all) && !p.evictionAllowed() {
		p.decide(true)
		return now.Add(heldInterval), nil
	}
	if confirm := p.controller.Confirm; confirm != nil {
		if err := confirm(p.ctx); err != nil {
			return time.Time{}, err //nolint:wrapcheck // it names the lease, and the agent reads everything again
		}
	}
	p.decide(false)
	p.controller.Log.Warn("a record is evicted, because the hub has lost its work", "work", p.name, "objects",
		len(p.record.Status.AppliedResources))
	p.leaving = true
	step, err := p.steps()
	if step.Gone {
		p.moved("")
		p.controller.forget(p.name)
		p.controller.reportHeld()
	}
	return step.Again, err
}

// whyHeld returns why the record stays although the hub lacks the work; empty where nothing but its grace period and the brake keep it.
func (p *pass) whyHeld() string {
	if p.record == nil {
		return ""
	}
	if p.ofOtherCluster() {
		return heldOtherCluster
	}
	return p.record.Annotations[EvictionHeldAnnotation]
}

// evictionAllowed returns whether an administrator allows the eviction of the record.
func (p *pass) evictionAllowed() bool { return p.record.Annotations[AllowEvictionAnnotation] == "true" }

// evictAt returns when a record may be evicted whose work is missing now.
func (s *state) evictAt(now time.Time, grace time.Duration) time.Time {
	if s.missing.IsZero() {
		s.missing = now
	}
	return s.missing.Add(grace)
}

// brakes returns whether so many works are missing that the hub has more likely lost them than deleted them.
func brakes(missing, all int) bool {
	return missing == all || missing > evictedAtOnce && missing*evictedPart > all
}

// missing returns how many of the records have no work on the hub.
func (p *pass) missing() (missing, all int) {
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	for name, state := range p.controller.states {
		if !state.recorded {
			continue
		}
		all++
		if p.controller.works.get(p.controller.Cluster, name) == nil {
			missing++
		}
	}
	return missing, all
}

func (c *Controller) grace() time.Duration {
	if c.EvictionGrace > 0 {
		return c.EvictionGrace
	}
	return DefaultEvictionGrace
}

// returned ends the grace period of a work that the hub has again, and removes the marks of what was gone.
func (p *pass) returned() error {
	if p.record == nil || p.record.Status.EvictionStartTime == nil && p.record.Annotations[DefinitionGoneAnnotation] == "" &&
		p.record.Annotations[EvictionHeldAnnotation] == "" {
		return nil
	}
	for _, mark := range []string{DefinitionGoneAnnotation, EvictionHeldAnnotation} {
		if err := p.annotate(mark, ""); err != nil {
			return err
		}
	}
	var err error
	if p.record.Status.EvictionStartTime != nil {
		p.record, err = p.controller.patchRecord(p.ctx, p.record, map[string]any{"evictionStartTime": nil})
	}
	p.decide(false)
	return err
}
