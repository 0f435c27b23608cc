package certificate

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// SelfSigned is a Source that makes its certificates itself.
type SelfSigned struct {
	*served

	names     []string
	store     secretStore
	clock     clock.WithTicker
	publisher CAPublisher
	issue     func(names []string) (*keyPair, error)
	// These belong to the leader's loop.
	registered  registeredCAs
	publication publication
	term        servingTerm
}

// NewSelfSigned returns a source for a server of some names, of which there must be one at least, that keeps its certificates
// in the given namespace. Only the leader writes by the registrar.
func NewSelfSigned(mgr manager.Manager, namespace string, names []string, clock clock.WithTicker, registrar CAPublisher) (*SelfSigned, error) {
	o := &SelfSigned{
		served: newServed(), names: names, clock: clock, publisher: registrar, issue: issue,
		store: secretStore{reader: mgr.GetAPIReader(), writer: mgr.GetClient(), key: types.NamespacedName{Namespace: namespace, Name: secretName}},
	}
	return o, addRunnables(mgr, o.runServing, o.runRenewing)
}

// runServing serves what is stored.
func (o *SelfSigned) runServing(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, o.clock, wait); {
		if err := o.syncStored(ctx); err != nil {
			log.FromContext(ctx).Error(err, "looking for another certificate")
		}
		wait = pollInterval
		if o.pair.Load() == nil {
			wait = startPollInterval
		}
	}
	return nil
}

// syncStored reads what is stored and serves it.
func (o *SelfSigned) syncStored(ctx context.Context) error {
	stored, _, err := o.store.load(ctx)
	o.serveAndLog(ctx, stored.current)
	return err
}

// serveAndLog serves with a pair from now on, if there is one.
func (o *SelfSigned) serveAndLog(ctx context.Context, current *keyPair) {
	if o.serve(current) {
		log.FromContext(ctx).Info("serving with another certificate", "until", current.notAfter)
	}
}

// runRenewing renews what is stored, and registers it.
func (o *SelfSigned) runRenewing(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, o.clock, wait); {
		wait = pollInterval
		err := o.renew(ctx)
		switch {
		case apierrors.IsConflict(err):
			wait = startPollInterval
		case err != nil && ctx.Err() == nil:
			log.FromContext(ctx).Error(err, "renewing the certificate")
			wait = time.Second
		}
	}
	return nil
}

// renew takes one step, and registers the outcome.
func (o *SelfSigned) renew(ctx context.Context) error {
	stored, version, err := o.store.loadOrCreate(ctx)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	if err := o.registered.load(ctx, o.publisher, now); err != nil {
		return err
	}
	following, err := o.nextState(ctx, stored, now)
	if err != nil {
		return err
	}
	if !following.equal(stored) {
		if err := o.store.save(ctx, following, version); err != nil {
			return err
		}
	}
	authorities := o.registered.appendTo(following.caBundle(), now)
	if !following.current.equal(o.pair.Load()) {
		if err := o.publisher.UpdateCABundles(ctx, authorities); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	o.serveAndLog(ctx, following.current) // before the API server is sent to a server that cannot answer
	o.term.record(following.current, now)
	if err := o.publish(ctx, following.current, authorities, now); err != nil {
		return err
	}
	o.publication.record(following.next, now)
	return nil
}

// nextState returns the state that follows what is stored. While the current pair is valid, the next one takes its place
// only once the API server trusts it.
func (o *SelfSigned) nextState(ctx context.Context, stored rotationState, now time.Time) (rotationState, error) {
	from := stored.withServed(o.pair.Load(), now)
	if o.term.lasted(from.current, 3*pollInterval, now) && from.revoked != nil && !from.isRevoked(from.current) {
		o.registered.remove(from.revoked)
		from = from.withoutRevoked()
	}
	following, err := from.step(o.names, now, o.issue)
	if err != nil || !from.promotes(following) || !from.current.valid(now) {
		return following, err
	}
	trusted, err := o.isNextTrusted(ctx, from.next, now)
	if err != nil || !trusted {
		following = from
	}
	return following, err
}

// isNextTrusted reports whether every registered object trusts a pair, and has for long enough to be in force.
func (o *SelfSigned) isNextTrusted(ctx context.Context, next *keyPair, now time.Time) (bool, error) {
	if !o.publication.propagated(next, now) {
		return false, nil
	}
	bundles, err := o.publisher.CABundles(ctx)
	if apierrors.IsForbidden(err) {
		return true, nil // a role of an earlier version: what was written has to do
	}
	for _, bundle := range bundles {
		if !next.trusted(bundle, now) {
			return false, err
		}
	}
	return err == nil, err
}

// publish stores how the servers are reached and which authorities to trust there. A name for which no certificate is
// served everywhere yet is not registered: until then what is registered stays reachable as it is.
func (o *SelfSigned) publish(ctx context.Context, current *keyPair, authorities []byte, now time.Time) error {
	if current.covers(o.names) && o.term.servedEverywhere(now) {
		return o.publisher.Apply(ctx, authorities)
	}
	return o.publisher.UpdateCABundles(ctx, authorities)
}

// publication is the next pair that the API server was given to trust, and since when.
type publication struct {
	next  *keyPair
	since time.Time
}

func (p *publication) record(next *keyPair, now time.Time) {
	if !next.equal(p.next) {
		*p = publication{next, now}
	}
}

// propagated reports whether every API server has had the time to act on what was published of a pair.
func (p *publication) propagated(next *keyPair, now time.Time) bool {
	return next.equal(p.next) && !now.Before(p.since.Add(pollInterval))
}

// servingTerm is the current pair, and since when this leader has known it as that.
type servingTerm struct {
	current *keyPair
	since   time.Time
	// replaced means that another pair was the current one before, so that some replicas may still serve that.
	replaced bool
}

func (t *servingTerm) record(current *keyPair, now time.Time) {
	if !current.equal(t.current) {
		*t = servingTerm{current, now, t.current != nil}
	}
}

// servedEverywhere reports whether every replica has had the time to serve the current pair.
func (t *servingTerm) servedEverywhere(now time.Time) bool {
	return !t.replaced || t.lasted(t.current, 2*pollInterval, now)
}

// lasted reports whether a pair has been the current one for some time.
func (t *servingTerm) lasted(current *keyPair, period time.Duration, now time.Time) bool {
	return current != nil && current.equal(t.current) && !now.Before(t.since.Add(period))
}
