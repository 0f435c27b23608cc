package apiserver

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/berth-project/berth/internal/certificate"
)

var errNoCertificate = errors.New("no certificate")

// secureServing returns the ConfigureTLS settings of the server.
func secureServing(options Options) (*server.SecureServingInfo, error) {
	provider := &certificateProvider{config: &tls.Config{MinVersion: tls.VersionTLS13}, source: options.Certificate}
	options.Certificate.ConfigureTLS(provider.config)
	if _, _, err := provider.content(); err != nil {
		return nil, fmt.Errorf("getting a certificate for the views: %w", err)
	}
	return &server.SecureServingInfo{Listener: options.Listener, MinTLSVersion: tls.VersionTLS13, Cert: provider}, nil
}

// certificateProvider adapts a certificate.Source to the API server.
type certificateProvider struct {
	config *tls.Config
	source certificate.Source
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (*certificateProvider) Name() string { return Name }

// AddListener implements dynamiccertificates.Notifier.
func (g *certificateProvider) AddListener(listener dynamiccertificates.Listener) {
	g.source.OnChange(listener.Enqueue)
}

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider. It returns nothing while there is no
// certificate, and the server keeps the last one.
func (g *certificateProvider) CurrentCertKeyContent() (chain, key []byte) {
	chain, key, err := g.content()
	if err != nil {
		return nil, nil
	}
	return chain, key
}

func (g *certificateProvider) content() (chain, key []byte, err error) {
	if g.config.GetCertificate == nil {
		return nil, nil, errNoCertificate
	}
	pair, err := g.config.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		return nil, nil, fmt.Errorf("loading it: %w", err)
	}
	var blocks bytes.Buffer
	for _, der := range pair.Certificate {
		blocks.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("reading its key: %w", err)
	}
	return blocks.Bytes(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
