package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/berth-project/berth/config"
	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/internal/admission/certificate"
	"github.com/berth-project/berth/internal/admission/certificate/cabundle"
)

var errNoCertificate = errors.New("there is no certificate yet")

// addCertificate prepares the certificate of the webhooks and the views, if any are served, and registers them with the API
// server.
func (m *managerBuilder) addCertificate() error {
	var served []fs.FS
	if m.options.Webhooks.enabled() {
		served = append(served, config.Webhooks(), config.Conversion())
	}
	if m.options.servesViews() {
		served = append(served, viewconfig.Registration())
	}
	if len(served) == 0 {
		return nil
	}
	address := cabundle.Address{URL: m.options.Webhooks.URL, Port: m.options.Views.ServicePort}
	registered, err := cabundle.New(m.mgr.GetClient(), address, served...)
	if err != nil {
		return err
	}
	if err := m.newCertificate(registered); err != nil {
		return err
	}
	registerCertificateMetric(metrics.Registry, m.certificates.NotAfter)
	if err := m.mgr.AddReadyzCheck("certificate", m.checkCertificate); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// newCertificate creates the certificate source.
func (m *managerBuilder) newCertificate(registered *cabundle.Publisher) (err error) {
	registrar := &registrar{Publisher: registered, applied: func() {}}
	if m.options.OnRegistered != nil {
		registrar.applied = sync.OnceFunc(m.options.OnRegistered)
	}
	if m.options.Certificate.CertFile != "" {
		m.certificates, err = certificate.NewFile(m.mgr, m.options.Certificate, registered.Hosts(), clock.RealClock{}, registrar)
		return err
	}
	hosts, err := certificateHosts(m.mgr.GetClient(), registered)
	if err != nil {
		return err
	}
	m.certificates, err = certificate.NewSelfSigned(m.mgr, m.options.LeaderElectionNamespace, hosts, clock.RealClock{}, registrar)
	return err
}

// registrar calls a function after each registration of the servers.
type registrar struct {
	*cabundle.Publisher

	applied func()
}

// Apply implements certificate.CAPublisher.
func (r *registrar) Apply(ctx context.Context, authorities []byte) error {
	if err := r.Publisher.Apply(ctx, authorities); err != nil {
		return err //nolint:wrapcheck // the error names the object
	}
	r.applied()
	return nil
}

// certificateHosts returns the hosts for a certificate of the manager: those of all servers, whether they run or not, so
// that the certificate stays the same when one is switched on.
func certificateHosts(writer client.Client, registered *cabundle.Publisher) ([]string, error) {
	all, err := cabundle.New(writer, cabundle.Address{}, config.Webhooks(), config.Conversion(), viewconfig.Registration())
	if err != nil {
		return nil, err
	}
	return sets.List(sets.New("localhost", "127.0.0.1").Insert(all.Hosts()...).Insert(registered.Hosts()...)), nil
}

// checkCertificate fails while there is no certificate.
func (m *managerBuilder) checkCertificate(*http.Request) error {
	select {
	case <-m.certificates.Ready():
		return nil
	default:
		return errNoCertificate
	}
}
