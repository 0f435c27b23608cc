package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

var errNotYet = errors.New("there is no certificate yet; the leader makes it")

// Own is a Source that makes its certificates itself.
type Own struct {
	names []string
	store store
	clock clock.WithTicker
	trust []Trust

	served atomic.Pointer[pair]
	once   sync.Once
	ready  chan struct{}
}

// NewOwn returns a source for a server of some names, of which there must be one at least, that keeps its certificates
// in the given namespace. Trust is called by the leader only.
func NewOwn(mgr manager.Manager, namespace string, names []string, clock clock.WithTicker, trust ...Trust) (*Own, error) {
	o := &Own{
		names: names, clock: clock, trust: trust, ready: make(chan struct{}),
		store: store{reader: mgr.GetAPIReader(), writer: mgr.GetClient(), key: types.NamespacedName{Namespace: namespace, Name: secretName}},
	}
	for _, add := range []manager.Runnable{everywhere(o.follow), manager.RunnableFunc(o.lead)} {
		if err := mgr.Add(add); err != nil {
			return nil, fmt.Errorf("adding the certificate: %w", err)
		}
	}
	return o, nil
}

// everywhere is a runnable of every replica, whether it leads or not.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// TLS implements Source.
func (o *Own) TLS(config *tls.Config) {
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		served := o.served.Load()
		if served == nil {
			return nil, errNotYet
		}
		return &served.parsed, nil
	}
}

// Ready implements Source.
func (o *Own) Ready() <-chan struct{} { return o.ready }

// follow serves what is stored.
func (o *Own) follow(ctx context.Context) error {
	for wait := time.Duration(0); o.sleep(ctx, wait); {
		stored, _, err := o.store.load(ctx)
		if err != nil {
			log.FromContext(ctx).Error(err, "looking for another certificate")
		}
		o.serve(ctx, stored.current)
		wait = look
		if o.served.Load() == nil {
			wait = hurry
		}
	}
	return nil
}

// serve serves with a pair from now on, if there is one.
func (o *Own) serve(ctx context.Context, current *pair) {
	if current == nil || current.same(o.served.Load()) {
		return
	}
	o.served.Store(current)
	o.once.Do(func() { close(o.ready) })
	log.FromContext(ctx).Info("serving with another certificate", "until", current.until)
}

// lead renews what is stored, and tells whom to trust.
func (o *Own) lead(ctx context.Context) error {
	for wait := time.Duration(0); o.sleep(ctx, wait); {
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
	stored, version, err := o.store.load(ctx)
	if err != nil {
		return err
	}
	following, err := stored.step(o.names, o.clock.Now(), issue)
	if err != nil {
		return err
	}
	if !following.same(stored) {
		if err := o.store.save(ctx, following, version); err != nil {
			return err
		}
	}
	o.serve(ctx, following.current) // at once: nobody is sent to a server that cannot answer
	return tell(ctx, o.trust, following.authorities())
}

func tell(ctx context.Context, trust []Trust, authorities []byte) error {
	var faults []error
	for _, one := range trust {
		faults = append(faults, one(ctx, authorities))
	}
	return errors.Join(faults...)
}

// sleep waits, and says whether to go on.
func (o *Own) sleep(ctx context.Context, wait time.Duration) bool { return sleep(ctx, o.clock, wait) }

func sleep(ctx context.Context, clock clock.WithTicker, wait time.Duration) bool {
	if wait == 0 {
		return ctx.Err() == nil
	}
	timer := clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
