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

// Files are the paths of a key pair that another program updates.
type Files struct {
	CertFile, KeyFile string
	// CAFile may be empty. Then another program publishes the CA.
	CAFile string
}

// File is a Source that polls files.
type File struct {
	*served

	files     Files
	names     []string
	clock     clock.WithTicker
	publisher CAPublisher
	state     atomic.Pointer[fileState]
	// registered is used by the leader only.
	registered registeredCAs
}

// NewFile returns a Source for files, which must exist and be valid for all server names.
func NewFile(mgr manager.Manager, files Files, names []string, clock clock.WithTicker, registrar CAPublisher) (*File, error) {
	f := &File{served: newServed(), files: files, names: names, clock: clock, publisher: registrar}
	f.state.Store(&fileState{})
	if err := f.readFiles(); err != nil {
		return nil, err
	}
	return f, addRunnables(mgr, f.runServing, f.runPublishing)
}

// runServing polls the files and serves their key pair.
func (f *File) runServing(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); {
		if err := f.sync(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "reading the certificate files, serving the last certificate")
		}
		wait = pollInterval
		if f.pair.Load() == nil {
			wait = startPollInterval
		}
	}
	return nil
}

// sync reads the files and serves the key pair that is due.
func (f *File) sync(ctx context.Context) error {
	return errors.Join(f.readFiles(), f.serveTrusted(ctx))
}

// readFiles reads the files. After an error the state only advances to a next key pair that has waited long enough.
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

// serveTrusted serves the current key pair once every registered object has its CA.
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

// isTrusted reports whether every registered object has the CA of a key pair. It also returns true if the served key pair
// has expired, or if no leader has published the CA for a while. A leader with another configuration never publishes it.
func (f *File) isTrusted(ctx context.Context, current *keyPair) (bool, error) {
	now, before, limit := f.clock.Now(), f.pair.Load(), trustDelay
	if before != nil {
		limit *= 2 // the key pair has waited for one delay already
	}
	if len(current.caBundle) == 0 || before != nil && !now.Before(before.notAfter) || !now.Before(current.createdAt.Add(limit)) {
		return true, nil
	}
	bundles, err := f.publisher.CABundles(ctx)
	if apierrors.IsForbidden(err) {
		return true, nil // the role of an earlier version has no permission to read: serve without the check, as that version did
	}
	untrusted := slices.ContainsFunc(bundles, func(bundle []byte) bool { return !current.trusted(bundle, now) })
	return err == nil && !untrusted, err
}

// load reads and verifies the files.
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
			return nil, fmt.Errorf("%s: the certificate is not valid for the name %s: %w", f.files.CertFile, name, err)
		}
	}
	if f.files.CAFile == "" {
		return out, nil
	}
	authorities, err := cert.CertsFromFile(f.files.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA file: %w", err)
	}
	if err := out.verifySignedBy(authorities, now); err != nil {
		return nil, fmt.Errorf("%s: no CA in %s signed it: %w", f.files.CertFile, f.files.CAFile, err)
	}
	if out.caBundle, err = cert.EncodeCertificates(authorities...); err != nil {
		return nil, fmt.Errorf("reading the CA file: %w", err)
	}
	return out, nil
}

// runPublishing publishes the CA file.
func (f *File) runPublishing(ctx context.Context) error {
	if f.files.CAFile == "" {
		return nil
	}
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); wait = pollInterval {
		if err := f.publish(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "publishing the CA bundle", "file", f.files.CAFile)
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
