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
	Certificate, Key string
	// Authorities may be empty: then another program registers them.
	Authorities string
}

// File is a Source that reads its certificates from files, and reads them again when they change.
type File struct {
	*served

	files     Files
	names     []string
	clock     clock.WithTicker
	registrar Registrar
	known     atomic.Pointer[fileState]
	// inherited belongs to the leader's loop.
	inherited inheritance
}

// NewFile returns a source of files, which must be there already and fit a server of all the given names.
func NewFile(mgr manager.Manager, files Files, names []string, clock clock.WithTicker, registrar Registrar) (*File, error) {
	f := &File{served: newServed(), files: files, names: names, clock: clock, registrar: registrar}
	f.known.Store(&fileState{})
	if err := f.look(); err != nil {
		return nil, err
	}
	return f, add(mgr, f.follow, f.lead)
}

// follow serves what the files hold, in time.
func (f *File) follow(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); {
		if err := f.turn(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "looking for another certificate, keeping the last")
		}
		wait = look
		if f.pair.Load() == nil {
			wait = hurry
		}
	}
	return nil
}

// turn reads the files and serves what is to be served.
func (f *File) turn(ctx context.Context) error { return errors.Join(f.look(), f.use(ctx)) }

// look reads the files. What cannot be read changes nothing, save that what has waited long enough takes its place.
func (f *File) look() error {
	now := f.clock.Now()
	found, err := f.read(now)
	known := *f.known.Load()
	if err != nil {
		if found = known.next; found == nil {
			return err
		}
	}
	known = known.take(found, now)
	f.known.Store(&known)
	return err
}

// use serves what is to be served by now, once every registered object trusts it.
func (f *File) use(ctx context.Context) error {
	current := f.known.Load().current
	if current.same(f.pair.Load()) {
		return nil
	}
	trusted, err := f.trusted(ctx, current)
	if trusted {
		f.serve(current)
	}
	return err
}

// trusted reports whether every registered object trusts a pair. It is served without that where the pair before it has
// ended, and where no leader has registered it for a while: a replica of another configuration that leads never would.
func (f *File) trusted(ctx context.Context, current *pair) (bool, error) {
	now, before, limit := f.clock.Now(), f.pair.Load(), overlap
	if before != nil {
		limit *= 2 // the pair was known for one overlap before its turn came
	}
	if len(current.authority) == 0 || before != nil && !now.Before(before.until) || !now.Before(current.since.Add(limit)) {
		return true, nil
	}
	bundles, err := f.registrar.Trusted(ctx)
	if apierrors.IsForbidden(err) {
		return true, nil // a role of an earlier version: the pair is served as by that
	}
	untrusted := slices.ContainsFunc(bundles, func(bundle []byte) bool { return !current.trusted(bundle, now) })
	return err == nil && !untrusted, err
}

// read reads the files.
func (f *File) read(now time.Time) (*pair, error) {
	certificate, certificateErr := os.ReadFile(f.files.Certificate)
	key, keyErr := os.ReadFile(f.files.Key)
	if err := errors.Join(certificateErr, keyErr); err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	out, err := read(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%w (%s and %s)", err, f.files.Certificate, f.files.Key)
	}
	out.since = now
	for _, name := range f.names {
		if err := out.parsed.Leaf.VerifyHostname(name); err != nil {
			return nil, fmt.Errorf("%s: the API server asks for %s: %w", f.files.Certificate, name, err)
		}
	}
	if f.files.Authorities == "" {
		return out, nil
	}
	authorities, err := cert.CertsFromFile(f.files.Authorities)
	if err != nil {
		return nil, fmt.Errorf("reading the authorities: %w", err)
	}
	if err := out.signedBy(authorities, now); err != nil {
		return nil, fmt.Errorf("%s: its authority is not in %s: %w", f.files.Certificate, f.files.Authorities, err)
	}
	if out.authority, err = cert.EncodeCertificates(authorities...); err != nil {
		return nil, fmt.Errorf("reading the authorities: %w", err)
	}
	return out, nil
}

// lead registers the authorities.
func (f *File) lead(ctx context.Context) error {
	if f.files.Authorities == "" {
		return nil
	}
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); wait = look {
		if err := f.register(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "registering the authorities of a certificate", "authorities", f.files.Authorities)
		}
	}
	return nil
}

func (f *File) register(ctx context.Context) error {
	now := f.clock.Now()
	if err := f.inherited.read(ctx, f.registrar, now); err != nil {
		return err
	}
	return f.registrar.Apply(ctx, f.inherited.join(f.known.Load().authorities(), now))
}
