package certificate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Files are the paths of a certificate that another program keeps fresh.
type Files struct {
	CertFile, KeyFile string
	// CAFile may be empty: then another program registers them.
	CAFile string
}

// File is a Source that reads its certificates from files, and reads them again when they change.
type File struct {
	*served

	files     Files
	names     []string
	clock     clock.WithTicker
	publisher CAPublisher
	state     atomic.Pointer[fileState]
	// registered belongs to the leader's loop.
	registered registeredCAs
}

// NewFile returns a source of files, which must be there already and fit a server of all the given names.
func NewFile(mgr manager.Manager, files Files, names []string, clock clock.WithTicker, registrar CAPublisher) (*File, error) {
	f := &File{served: newServed(), files: files, names: names, clock: clock, publisher: registrar}
	f.state.Store(&fileState{})
	if err := f.readFiles(); err != nil {
		return nil, err
	}
	return f, addRunnables(mgr, f.runServing, f.runPublishing)
}

// runServing serves what the files hold, in time.
func (f *File) runServing(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); {
		if err := f.sync(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "looking for another certificate, keeping the last")
		}
		wait = pollInterval
		if f.pair.Load() == nil {
			wait = startPollInterval
		}
	}
	return nil
}

// sync reads the files and serves what is to be served.
func (f *File) sync(ctx context.Context) error {
	return errors.Join(f.readFiles(), f.serveTrusted(ctx))
}

// readFiles reads the files. What cannot be read changes nothing, save that what has waited long enough takes its place.
func (f *File) readFiles() error {
	now := f.clock.Now()
	found, err := f.load(now)
	known := *f.state.Load()
	if err != nil {
		if found = known.next; found == nil {
			return err
		}
	}
	known = known.observe(found, now)
	f.state.Store(&known)
	return err
}

// serveTrusted serves what is to be served by now, once every registered object trusts it.
func (f *File) serveTrusted(ctx context.Context) error {
	current := f.state.Load().current
	if current.equal(f.pair.Load()) {
		return nil
	}
	trusted, err := f.isTrusted(ctx, current)
	if trusted {
		f.serve(current)
	}
	return err
}

// isTrusted reports whether every registered object trusts a pair. It is served without that where the pair before it has
// ended, and where no leader has registered it for a while: a replica of another configuration that leads never would.
func (f *File) isTrusted(ctx context.Context, current *keyPair) (bool, error) {
	now, before, limit := f.clock.Now(), f.pair.Load(), trustDelay
	if before != nil {
		limit *= 2 // the pair was known for one overlap before its turn came
	}
	if len(current.caBundle) == 0 || before != nil && !now.Before(before.notAfter) || !now.Before(current.createdAt.Add(limit)) {
		return true, nil
	}
	bundles, err := f.publisher.CABundles(ctx)
	if apierrors.IsForbidden(err) {
		return true, nil // a role of an earlier version: the pair is served as by that
	}
	untrusted := slices.ContainsFunc(bundles, func(bundle []byte) bool { return !current.trusted(bundle, now) })
	return err == nil && !untrusted, err
}

// load reads the files.
func (f *File) load(now time.Time) (*keyPair, error) {
	certificate, certificateErr := os.ReadFile(f.files.CertFile)
	key, keyErr := os.ReadFile(f.files.KeyFile)
	if err := errors.Join(certificateErr, keyErr); err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	out, err := parseKeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%w (%s and %s)", err, f.files.CertFile, f.files.KeyFile)
	}
	out.createdAt = now
	for _, name := range f.names {
		if err := out.parsed.Leaf.VerifyHostname(name); err != nil {
			return nil, fmt.Errorf("%s: the API server asks for %s: %w", f.files.CertFile, name, err)
		}
	}
	if f.files.CAFile == "" {
		return out, nil
	}
	authorities, err := cert.CertsFromFile(f.files.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the authorities: %w", err)
	}
	if err := out.verifySignedBy(authorities, now); err != nil {
		return nil, fmt.Errorf("%s: its authority is not in %s: %w", f.files.CertFile, f.files.CAFile, err)
	}
	if out.caBundle, err = cert.EncodeCertificates(authorities...); err != nil {
		return nil, fmt.Errorf("reading the authorities: %w", err)
	}
	return out, nil
}

// runPublishing registers the authorities.
func (f *File) runPublishing(ctx context.Context) error {
	if f.files.CAFile == "" {
		return nil
	}
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); wait = pollInterval {
		if err := f.publish(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "registering the authorities of a certificate", "authorities", f.files.CAFile)
		}
	}
	return nil
}

func (f *File) publish(ctx context.Context) error {
	now := f.clock.Now()
	if err := f.registered.load(ctx, f.publisher, now); err != nil {
		return err
	}
	return f.publisher.Apply(ctx, f.registered.appendTo(f.state.Load().caBundle(), now))
}
