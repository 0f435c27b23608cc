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

	names []string
	store store
	clock clock.WithTicker
	trust []Trust
	// told belongs to the leader's loop.
	told told
}

// NewOwn returns a source for a server of some names, of which there must be one at least, that keeps its certificates
// in the given namespace. Trust is called by the leader only.
func NewOwn(mgr manager.Manager, namespace string, names []string, clock clock.WithTicker, trust ...Trust) (*Own, error) {
	o := &Own{
		served: newServed(), names: names, clock: clock, trust: trust,
		store: store{reader: mgr.GetAPIReader(), writer: mgr.GetClient(), key: types.NamespacedName{Namespace: namespace, Name: secretName}},
	}
	return o, add(mgr, o.follow, o.lead)
}

// follow serves what is stored.
func (o *Own) follow(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, o.clock, wait); {
		stored, _, err := o.store.load(ctx)
		if err != nil {
			log.FromContext(ctx).Error(err, "looking for another certificate")
		}
		o.use(ctx, stored.current)
		wait = look
		if o.pair.Load() == nil {
			wait = hurry
		}
	}
	return nil
}

// use serves with a pair from now on, if there is one.
func (o *Own) use(ctx context.Context, current *pair) {
	if o.serve(current) {
		log.FromContext(ctx).Info("serving with another certificate", "until", current.until)
	}
}

// lead renews what is stored, and tells whom to trust.
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

// renew takes one step, and tells whom to trust afterwards.
func (o *Own) renew(ctx context.Context) error {
	stored, version, err := o.store.open(ctx)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	following, err := stored.step(o.names, now, issue)
	if err != nil {
		return err
	}
	if stored.promoted(following) && stored.serves(o.names, now) && !o.told.of(stored.next, now) {
		following = stored // whoever could not be told keeps the current pair in service
	}
	if !following.same(stored) {
		if err := o.store.save(ctx, following, version); err != nil {
			return err
		}
	}
	o.use(ctx, following.current) // at once: nobody is sent to a server that cannot answer
	if err := tell(ctx, o.trust, following.authorities()); err != nil {
		return err
	}
	o.told.note(following.next, now)
	return nil
}

// told is the next pair that everybody has been told to trust, and since when.
type told struct {
	next  *pair
	since time.Time
}

func (t *told) note(next *pair, now time.Time) {
	if !next.same(t.next) {
		*t = told{next, now}
	}
}

// of says whether everybody has had time to act on what they were told of a pair.
func (t *told) of(next *pair, now time.Time) bool {
	return next.same(t.next) && !now.Before(t.since.Add(look))
}
