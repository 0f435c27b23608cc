package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/config"
	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/internal/certificate"
	"github.com/berth-project/berth/internal/certificate/cabundle"
	"github.com/berth-project/berth/internal/telemetry"
)

var errNoCertificate = errors.New("there is no certificate yet")

// addCertificateFlags binds to flags what servers for the API server serve with.
func addCertificateFlags(flags *pflag.FlagSet, files *certificate.Files) {
	flags.StringVar(&files.CertFile, "tls-cert-file", files.CertFile,
		"certificate to serve webhooks and views with, read again when it changes; empty: one of the manager's own")
	flags.StringVar(&files.KeyFile, "tls-private-key-file", files.KeyFile, "key of the certificate")
	flags.StringVar(&files.CAFile, "tls-ca-file", files.CAFile,
		"authorities that the API server is to trust for the certificate; empty with --tls-cert-file: somebody else registers webhooks and views")
}

// addCertificate readies what servers for the API server serve with, where there are any, and lets the API server know of
// these servers and whom to trust there.
func (a *managerBuilder) addCertificate() error {
	var served []fs.FS
	if a.options.Webhooks.enabled() {
		served = append(served, config.Webhooks())
	}
	if a.options.servesViews() {
		served = append(served, viewconfig.Registration())
	}
	if len(served) == 0 {
		return nil
	}
	address := cabundle.Address{URL: a.options.Webhooks.URL, Port: a.options.Views.ServicePort}
	registered, err := cabundle.New(a.mgr.GetClient(), address, served...)
	if err != nil {
		return err
	}
	if err := a.newCertificate(registered); err != nil {
		return err
	}
	telemetry.NewCertificate(metrics.Registry, a.certificates.NotAfter)
	if err := a.mgr.AddReadyzCheck("certificate", a.checkCertificate); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// newCertificate makes the source of certificates.
func (a *managerBuilder) newCertificate(registered *cabundle.Publisher) (err error) {
	registrar := &registrar{Publisher: registered, applied: func() {}}
	if a.options.OnRegistered != nil {
		registrar.applied = sync.OnceFunc(a.options.OnRegistered)
	}
	if a.options.Certificate.CertFile != "" {
		a.certificates, err = certificate.NewFile(a.mgr, a.options.Certificate, registered.Hosts(), clock.RealClock{}, registrar)
		return err
	}
	hosts, err := certificateHosts(a.mgr.GetClient(), registered)
	if err != nil {
		return err
	}
	a.certificates, err = certificate.NewSelfSigned(a.mgr, a.options.LeaderElectionNamespace, hosts, clock.RealClock{}, registrar)
	return err
}

// registrar calls a function after each time that the servers are registered.
type registrar struct {
	*cabundle.Publisher

	applied func()
}

// Apply implements certificate.CAPublisher.
func (r *registrar) Apply(ctx context.Context, authorities []byte) error {
	if err := r.Publisher.Apply(ctx, authorities); err != nil {
		return err //nolint:wrapcheck // the registration says what it could not store
	}
	r.applied()
	return nil
}

// certificateHosts returns whom a certificate of the manager's own is for: what is registered, and whatever could be, so that it
// stays the same when something is turned on.
func certificateHosts(writer client.Client, registered *cabundle.Publisher) ([]string, error) {
	all, err := cabundle.New(writer, cabundle.Address{}, config.Webhooks(), viewconfig.Registration())
	if err != nil {
		return nil, err
	}
	return sets.List(sets.New("localhost", "127.0.0.1").Insert(all.Hosts()...).Insert(registered.Hosts()...)), nil
}

// checkCertificate says whether servers have something to serve with.
func (a *managerBuilder) checkCertificate(*http.Request) error {
	select {
	case <-a.certificates.Ready():
		return nil
	default:
		return errNoCertificate
	}
}
