package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

var errNoAuthority = errors.New("reading a certificate: the CA certificate is missing")

// backdated is how far in the past client-go sets the start of a certificate, to tolerate slow clocks.
const backdated = time.Hour

// keyPair is a serving certificate with its key and its CA. It is immutable.
type keyPair struct {
	// certificate and key are PEM. The leaf comes first, and in a self-signed key pair the CA second.
	certificate, key []byte
	parsed           tls.Certificate
	// caBundle is PEM. It is empty if another program publishes the CA.
	caBundle []byte
	// createdAt is when the key pair was made or first read, and notAfter when it expires.
	createdAt, notAfter time.Time
}

// issue makes a self-signed key pair for server names, which are DNS names or IP addresses.
func issue(names []string) (*keyPair, error) {
	options := cert.SelfSignedCertKeyOptions{Host: names[0], MaxAge: lifetime}
	for _, name := range names[1:] {
		if ip := net.ParseIP(name); ip != nil {
			options.AlternateIPs = append(options.AlternateIPs, ip)
		} else {
			options.AlternateDNS = append(options.AlternateDNS, name)
		}
	}
	certificate, key, err := cert.GenerateSelfSignedCertKeyWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("creating a certificate: %w", err)
	}
	return parseWithCA(certificate, key)
}

// parseWithCA reads a self-signed key pair, which contains its CA.
func parseWithCA(certificate, key []byte) (*keyPair, error) {
	out, err := parseKeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	if len(out.parsed.Certificate) < 2 {
		return nil, errNoAuthority
	}
	out.caBundle = pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: out.parsed.Certificate[1]})
	out.createdAt = out.parsed.Leaf.NotBefore.Add(backdated)
	return out, nil
}

// parseKeyPair reads a key pair without its CA.
func parseKeyPair(certificate, key []byte) (*keyPair, error) {
	parsed, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	return &keyPair{certificate: certificate, key: key, parsed: parsed, notAfter: parsed.Leaf.NotAfter}, nil
}

// withAgeOf returns the key pair with the creation time of an equal one.
func (p *keyPair) withAgeOf(older *keyPair) *keyPair {
	out := *p
	out.createdAt = older.createdAt
	return &out
}

// validFor reports whether the key pair, which may be nil, is valid for all names.
func (p *keyPair) validFor(names []string, now time.Time) bool {
	return p.valid(now) && p.covers(names)
}

// valid reports whether a client that trusts the CA accepts the key pair, which may be nil. A start in the future is accepted:
// the clock of the replica that made it is ahead.
func (p *keyPair) valid(now time.Time) bool {
	return p != nil && now.Before(p.notAfter) && p.trusted(p.caBundle, now)
}

// trusted reports whether a client with a trust bundle accepts the key pair until it expires.
func (p *keyPair) trusted(bundle []byte, now time.Time) bool {
	authorities, err := cert.ParseCertsPEM(bundle)
	return err == nil && p.verifySignedBy(authorities, now) == nil
}

// verifySignedBy returns an error unless one of the CAs signed the key pair, directly or through the rest of its chain. It
// ignores the validity period.
func (p *keyPair) verifySignedBy(authorities []*x509.Certificate, now time.Time) error {
	if now.Before(p.parsed.Leaf.NotBefore) {
		now = p.parsed.Leaf.NotBefore
	}
	if now.After(p.notAfter) {
		now = p.notAfter
	}
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now}
	for _, authority := range authorities {
		options.Roots.AddCert(authority)
	}
	for _, der := range p.parsed.Certificate[1:] {
		between, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("reading the certificate chain: %w", err)
		}
		options.Intermediates.AddCert(between)
	}
	_, err := p.parsed.Leaf.Verify(options)
	return err
}

// covers reports whether the certificate contains all names.
func (p *keyPair) covers(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p.parsed.Leaf.VerifyHostname(name) != nil })
}

// names returns the names in the certificate.
func (p *keyPair) names() []string {
	out := slices.Clone(p.parsed.Leaf.DNSNames)
	for _, ip := range p.parsed.Leaf.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}

// renewalTime is when the next key pair must be made.
func (p *keyPair) renewalTime() time.Time { return p.notAfter.Add(-p.notAfter.Sub(p.createdAt) / 3) }

// equal reports whether two key pairs are the same. Either may be nil.
func (p *keyPair) equal(other *keyPair) bool {
	if p == nil || other == nil {
		return p == other
	}
	return bytes.Equal(p.certificate, other.certificate)
}
