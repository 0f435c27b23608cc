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

// Own is a Source that makes its certificates itself.
type Own struct {
	*served

	names     []string
	store     store
	clock     clock.WithTicker
	registrar Registrar
	issue     func(names []string) (*pair, error)
	// These belong to the leader's loop.
	inherited inheritance
	published published
	tenure    tenure
}

// NewOwn returns a source for a server of some names, of which there must be one at least, that keeps its certificates
// in the given namespace. Only the leader writes by the registrar.
func NewOwn(mgr manager.Manager, namespace string, names []string, clock clock.WithTicker, registrar Registrar) (*Own, error) {
	o := &Own{
		served: newServed(), names: names, clock: clock, registrar: registrar, issue: issue,
		store: store{reader: mgr.GetAPIReader(), writer: mgr.GetClient(), key: types.NamespacedName{Namespace: namespace, Name: secretName}},
	}
	return o, add(mgr, o.follow, o.lead)
}

// follow serves what is stored.
func (o *Own) follow(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, o.clock, wait); {
		if err := o.read(ctx); err != nil {
			log.FromContext(ctx).Error(err, "looking for another certificate")
		}
		wait = look
		if o.pair.Load() == nil {
			wait = hurry
		}
	}
	return nil
}

// read reads what is stored and serves it.
func (o *Own) read(ctx context.Context) error {
	stored, _, err := o.store.load(ctx)
	o.use(ctx, stored.current)
	return err
}

// use serves with a pair from now on, if there is one.
func (o *Own) use(ctx context.Context, current *pair) {
	if o.serve(current) {
		log.FromContext(ctx).Info("serving with another certificate", "until", current.until)
	}
}

// lead renews what is stored, and registers it.
func (o *Own) lead(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, o.clock, wait); {
		wait = look
		err := o.renew(ctx)
		switch {
		case apierrors.IsConflict(err):
			wait = hurry
		case err != nil && ctx.Err() == nil:
			log.FromContext(ctx).Error(err, "renewing the certificate")
			wait = time.Second
		}
	}
	return nil
}

// renew takes one step, and registers the outcome.
func (o *Own) renew(ctx context.Context) error {
	stored, version, err := o.store.open(ctx)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	if err := o.inherited.read(ctx, o.registrar, now); err != nil {
		return err
	}
	following, err := o.following(ctx, stored, now)
	if err != nil {
		return err
	}
	if !following.same(stored) {
		if err := o.store.save(ctx, following, version); err != nil {
			return err
		}
	}
	authorities := o.inherited.join(following.authorities(), now)
	if !following.current.same(o.pair.Load()) {
		if err := o.registrar.Trust(ctx, authorities); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	o.use(ctx, following.current) // before the API server is sent to a server that cannot answer
	o.tenure.note(following.current, now)
	if err := o.register(ctx, following.current, authorities, now); err != nil {
		return err
	}
	o.published.note(following.next, now)
	return nil
}

// following returns the state that follows what is stored. While the current pair is valid, the next one takes its place
// only once the API server trusts it.
func (o *Own) following(ctx context.Context, stored state, now time.Time) (state, error) {
	from := stored.recovered(o.pair.Load(), now)
	if o.tenure.over(from.current, 3*look, now) && from.revoked != nil && !from.revokes(from.current) {
		o.inherited.forget(from.revoked)
		from = from.forget()
	}
	following, err := from.step(o.names, now, o.issue)
	if err != nil || !from.promotes(following) || !from.current.valid(now) {
		return following, err
	}
	trusted, err := o.trusted(ctx, from.next, now)
	if err != nil || !trusted {
		following = from
	}
	return following, err
}

// trusted reports whether every registered object trusts a pair, and has for long enough to be in force.
func (o *Own) trusted(ctx context.Context, next *pair, now time.Time) (bool, error) {
	if !o.published.of(next, now) {
		return false, nil
	}
	bundles, err := o.registrar.Trusted(ctx)
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

// register stores how the servers are reached and which authorities to trust there. A name for which no certificate is
// served everywhere yet is not registered: until then what is registered stays reachable as it is.
func (o *Own) register(ctx context.Context, current *pair, authorities []byte, now time.Time) error {
	if current.covers(o.names) && o.tenure.settled(now) {
		return o.registrar.Apply(ctx, authorities)
	}
	return o.registrar.Trust(ctx, authorities)
}

// published is the next pair that the API server was given to trust, and since when.
type published struct {
	next  *pair
	since time.Time
}

func (p *published) note(next *pair, now time.Time) {
	if !next.same(p.next) {
		*p = published{next, now}
	}
}

// of reports whether every API server has had the time to act on what was published of a pair.
func (p *published) of(next *pair, now time.Time) bool {
	return next.same(p.next) && !now.Before(p.since.Add(look))
}

// tenure is the current pair, and since when this leader has known it as that.
type tenure struct {
	current *pair
	since   time.Time
	// succeeded means that another pair was the current one before, so that some replicas may still serve that.
	succeeded bool
}

func (t *tenure) note(current *pair, now time.Time) {
	if !current.same(t.current) {
		*t = tenure{current, now, t.current != nil}
	}
}

// settled reports whether every replica has had the time to serve the current pair.
func (t *tenure) settled(now time.Time) bool { return !t.succeeded || t.over(t.current, 2*look, now) }

// over reports whether a pair has been the current one for some time.
func (t *tenure) over(current *pair, period time.Duration, now time.Time) bool {
	return current != nil && current.same(t.current) && !now.Before(t.since.Add(period))
}
