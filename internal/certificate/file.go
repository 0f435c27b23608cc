package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Files are the paths of a certificate that somebody else keeps fresh.
type Files struct {
	Certificate, Key string
	// Authorities may be empty: then somebody else tells whom to trust, too.
	Authorities string
}

// File is a Source that reads its certificates from files, and reads them again when they change.
type File struct {
	*served

	files Files
	names []string
	clock clock.WithTicker
	trust []Trust
	known atomic.Pointer[state]
}

// NewFile returns a source of files, which must be there already and fit a server of all the given names.
func NewFile(mgr manager.Manager, files Files, names []string, clock clock.WithTicker, trust ...Trust) (*File, error) {
	f := &File{served: newServed(), files: files, names: names, clock: clock, trust: trust}
	f.known.Store(&state{})
	if err := f.look(); err != nil {
		return nil, err
	}
	return f, add(mgr, f.follow, f.lead)
}

// follow serves what the files hold, in time.
func (f *File) follow(ctx context.Context) error {
	for sleep(ctx, f.clock, look) {
		if err := f.look(); err != nil {
			log.FromContext(ctx).Error(err, "looking for another certificate, keeping the last")
		}
	}
	return nil
}

// look reads the files and serves what is to be served by now. What cannot be read changes nothing, save that what has
// waited long enough is served.
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
	f.serve(known.current)
	return err
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

// signedBy returns an error where none of the authorities has signed a pair, directly or through the rest of its chain.
// That the pair is too young or too old is no reason.
func (p *pair) signedBy(authorities []*x509.Certificate, now time.Time) error {
	if now.Before(p.parsed.Leaf.NotBefore) {
		now = p.parsed.Leaf.NotBefore
	}
	if now.After(p.until) {
		now = p.until
	}
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now}
	for _, authority := range authorities {
		options.Roots.AddCert(authority)
	}
	for _, der := range p.parsed.Certificate[1:] {
		between, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("reading its chain: %w", err)
		}
		options.Intermediates.AddCert(between)
	}
	_, err := p.parsed.Leaf.Verify(options)
	return err
}

// lead tells whom to trust.
func (f *File) lead(ctx context.Context) error {
	if f.files.Authorities == "" {
		return nil
	}
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); wait = look {
		if err := tell(ctx, f.trust, f.known.Load().authorities()); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "telling whom to trust", "authorities", f.files.Authorities)
		}
	}
	return nil
}
