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
	"k8s.io/client-go/util/cert"
)

var errNoCertificate = errors.New("there is none")

// serving returns how the server serves.
func serving(options Options) (*server.SecureServingInfo, error) {
	out := &server.SecureServingInfo{Listener: options.Listener, MinTLSVersion: tls.VersionTLS13}
	var err error
	switch {
	case options.TLS != nil:
		out.Cert, err = fromConfig(options.TLS)
	case options.CertificateFile != "":
		out.Cert, err = dynamiccertificates.NewDynamicServingContentFromFiles(Name, options.CertificateFile, options.KeyFile)
	default:
		out.Cert, err = selfSigned()
	}
	if err != nil {
		return nil, fmt.Errorf("getting a certificate for the views: %w", err)
	}
	return out, nil
}

func selfSigned() (dynamiccertificates.CertKeyContentProvider, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, err
	}
	return dynamiccertificates.NewStaticCertKeyContent(Name, certificate, key)
}

func fromConfig(set func(*tls.Config)) (dynamiccertificates.CertKeyContentProvider, error) {
	out := &given{config: &tls.Config{MinVersion: tls.VersionTLS13}}
	set(out.config)
	if _, _, err := out.content(); err != nil {
		return nil, err
	}
	return out, nil
}

// given is a certificate that others keep fresh. The server asks for it once a minute.
type given struct {
	config *tls.Config
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (*given) Name() string { return Name }

// AddListener implements dynamiccertificates.Notifier; nobody is told, since the server asks.
func (*given) AddListener(dynamiccertificates.Listener) {}

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider. Where there is no certificate at the
// moment it returns nothing, and the server keeps the last.
func (g *given) CurrentCertKeyContent() (certificate, key []byte) {
	certificate, key, err := g.content()
	if err != nil {
		return nil, nil
	}
	return certificate, key
}

func (g *given) content() (certificate, key []byte, err error) {
	var pair *tls.Certificate
	switch {
	case g.config.GetCertificate != nil:
		if pair, err = g.config.GetCertificate(&tls.ClientHelloInfo{}); err != nil {
			return nil, nil, fmt.Errorf("asking for it: %w", err)
		}
	case len(g.config.Certificates) > 0:
		pair = &g.config.Certificates[0]
	}
	if pair == nil {
		return nil, nil, errNoCertificate
	}
	var chain bytes.Buffer
	for _, der := range pair.Certificate {
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("reading its key: %w", err)
	}
	return chain.Bytes(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
