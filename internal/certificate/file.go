package certificate

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
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
	watcher *certwatcher.CertWatcher
	path    string
	clock   clock.WithTicker
	trust   []Trust
}

// NewFile returns a source of files, which must be there already.
func NewFile(mgr manager.Manager, files Files, clock clock.WithTicker, trust ...Trust) (*File, error) {
	watcher, err := certwatcher.New(files.Certificate, files.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	f := &File{watcher: watcher, path: files.Authorities, clock: clock, trust: trust}
	runnables := []manager.Runnable{everywhere(watcher.Start)}
	if f.path != "" {
		runnables = append(runnables, manager.RunnableFunc(f.lead))
	}
	for _, add := range runnables {
		if err := mgr.Add(add); err != nil {
			return nil, fmt.Errorf("adding the certificate: %w", err)
		}
	}
	return f, nil
}

// TLS implements Source.
func (f *File) TLS(config *tls.Config) {
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.GetCertificate = f.watcher.GetCertificate
}

// Ready implements Source: there is a certificate from the start.
func (*File) Ready() <-chan struct{} {
	out := make(chan struct{})
	close(out)
	return out
}

// lead tells whom to trust.
func (f *File) lead(ctx context.Context) error {
	for wait := time.Duration(0); sleep(ctx, f.clock, wait); wait = look {
		authorities, err := os.ReadFile(f.path)
		if err == nil {
			err = tell(ctx, f.trust, authorities)
		}
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "telling whom to trust", "authorities", f.path)
		}
	}
	return nil
}
