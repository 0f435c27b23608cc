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

// SelfSigned is a Source of self-signed key pairs.
type SelfSigned struct {
	*served

	names     []string
	store     secretStore
	clock     clock.WithTicker
	publisher CAPublisher
	issue     func(names []string) (*keyPair, error)
	// The following fields are used by the leader only.
	registered  registeredCAs
	publication publication
	term        servingTerm
}

// NewSelfSigned returns a Source for at least one server name. It stores its key pairs in a Secret of the given namespace. Only
// the leader uses the publisher.
func NewSelfSigned(mgr manager.Manager, namespace string, names []string, clock clock.WithTicker,
	registrar CAPublisher,
) (*SelfSigned, error) {
	o := &SelfSigned{
		served: newServed(), names: names, clock: clock, publisher: registrar, issue: issue,
		store: secretStore{
			reader: mgr.GetAPIReader(), writer: mgr.GetClient(),
			key: types.NamespacedName{Namespace: namespace, Name: secretName},
		},
	}
	return o, addRunnables(mgr, o.runServing, o.runRenewing)
}

// runServing serves the stored key pair.
func (s *SelfSigned) runServing(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, s.clock, wait); {
		if err := s.syncStored(ctx); err != nil {
			log.FromContext(ctx).Error(err, "reading the Secret of the certificate")
		}
		wait = pollInterval
		if s.pair.Load() == nil {
			wait = startPollInterval
		}
	}
	return nil
}

// syncStored reads and serves the stored key pair.
func (s *SelfSigned) syncStored(ctx context.Context) error {
	stored, _, err := s.store.load(ctx)
	s.serveAndLog(ctx, stored.current)
	return err
}

// serveAndLog serves a key pair, if there is one.
func (s *SelfSigned) serveAndLog(ctx context.Context, current *keyPair) {
	if s.serve(current) {
		log.FromContext(ctx).Info("serving a new certificate", "notAfter", current.notAfter)
	}
}

// runRenewing renews and publishes the stored key pair.
func (s *SelfSigned) runRenewing(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, s.clock, wait); {
		wait = pollInterval
		err := s.renew(ctx)
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

// renew takes one step and publishes the result.
func (s *SelfSigned) renew(ctx context.Context) error {
	stored, version, err := s.store.loadOrCreate(ctx)
	if err != nil {
		return err
	}
	now := s.clock.Now()
	if err := s.registered.load(ctx, s.publisher, now); err != nil {
		return err
	}
	following, err := s.nextState(ctx, stored, now)
	if err != nil {
		return err
	}
	if !following.equal(stored) {
		if err := s.store.save(ctx, following, version); err != nil {
			return err
		}
	}
	authorities := s.registered.appendTo(following.caBundle(), now)
	if !following.current.equal(s.pair.Load()) {
		if err := s.publisher.UpdateCABundles(ctx, authorities); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	s.serveAndLog(ctx, following.current) // before the API server is sent to this replica
	s.term.record(following.current, now)
	if err := s.publish(ctx, following.current, authorities, now); err != nil {
		return err
	}
	s.publication.record(following.next, now)
	return nil
}

// nextState returns the state that follows the stored one. While the current key pair is valid, the next one replaces it only
// once the API server trusts it.
func (s *SelfSigned) nextState(ctx context.Context, stored rotationState, now time.Time) (rotationState, error) {
	from := stored.withServed(s.pair.Load(), now)
	if s.term.lasted(from.current, 3*pollInterval, now) && from.revoked != nil && !from.isRevoked(from.current) {
		s.registered.remove(from.revoked)
		from = from.withoutRevoked()
	}
	following, err := from.step(s.names, now, s.issue)
	if err != nil || !from.promotes(following) || !from.current.valid(now) {
		return following, err
	}
	trusted, err := s.isNextTrusted(ctx, from.next, now)
	if err != nil || !trusted {
		following = from
	}
	return following, err
}

// isNextTrusted reports whether every registered object has had the CA of the next key pair for long enough.
func (s *SelfSigned) isNextTrusted(ctx context.Context, next *keyPair, now time.Time) (bool, error) {
	if !s.publication.propagated(next, now) {
		return false, nil
	}
	bundles, err := s.publisher.CABundles(ctx)
	if apierrors.IsForbidden(err) {
		return true, nil // the role of an earlier version has no permission to read: rely on the last write
	}
	for _, bundle := range bundles {
		if !next.trusted(bundle, now) {
			return false, err
		}
	}
	return err == nil, err
}

// publish writes addresses and CA bundles. Until every replica serves a certificate with all names, it writes only the bundles,
// so that the registered addresses keep working.
func (s *SelfSigned) publish(ctx context.Context, current *keyPair, authorities []byte, now time.Time) error {
	if current.covers(s.names) && s.term.servedEverywhere(now) {
		return s.publisher.Apply(ctx, authorities)
	}
	return s.publisher.UpdateCABundles(ctx, authorities)
}

// publication is the next key pair whose CA was published, and since when.
type publication struct {
	next  *keyPair
	since time.Time
}

func (p *publication) record(next *keyPair, now time.Time) {
	if !next.equal(p.next) {
		*p = publication{next, now}
	}
}

// propagated reports whether every API server has had the time to read the published CA of a key pair.
func (p *publication) propagated(next *keyPair, now time.Time) bool {
	return next.equal(p.next) && !now.Before(p.since.Add(pollInterval))
}

// servingTerm is the current key pair, and when this leader first saw it as current.
type servingTerm struct {
	current *keyPair
	since   time.Time
	// replaced means that another key pair was current before, which some replicas may still serve.
	replaced bool
}

func (t *servingTerm) record(current *keyPair, now time.Time) {
	if !current.equal(t.current) {
		*t = servingTerm{current, now, t.current != nil}
	}
}

// servedEverywhere reports whether every replica has had the time to serve the current key pair.
func (t *servingTerm) servedEverywhere(now time.Time) bool {
	return !t.replaced || t.lasted(t.current, 2*pollInterval, now)
}

// lasted reports whether a key pair has been current for a period.
func (t *servingTerm) lasted(current *keyPair, period time.Duration, now time.Time) bool {
	return current != nil && current.equal(t.current) && !now.Before(t.since.Add(period))
}
