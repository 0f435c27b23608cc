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

var errNoAuthority = errors.New("reading a certificate: its authority is not with it")

// backdated is how much older than it is client-go's package makes a certificate, for the sake of slow clocks.
const backdated = time.Hour

// keyPair is a serving certificate with its authority, and the key. It is immutable.
type keyPair struct {
	// certificate is PEM, the leaf first, and the authority second where the pair is our own; key is PEM.
	certificate, key []byte
	parsed           tls.Certificate
	// caBundle is PEM, and may be empty where somebody else tells whom to trust.
	caBundle []byte
	// createdAt is when the pair was made, or first found; until is when it ends.
	createdAt, notAfter time.Time
}

// issue makes a pair for the names of a server, DNS names or IP addresses.
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
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return parseWithCA(certificate, key)
}

// parseWithCA reads a pair of our own, whose authority is with it.
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

// parseKeyPair reads a pair without its authority.
func parseKeyPair(certificate, key []byte) (*keyPair, error) {
	parsed, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	return &keyPair{certificate: certificate, key: key, parsed: parsed, notAfter: parsed.Leaf.NotAfter}, nil
}

// withAgeOf returns the pair as old as another that is the same.
func (p *keyPair) withAgeOf(older *keyPair) *keyPair {
	out := *p
	out.createdAt = older.createdAt
	return &out
}

// validFor reports whether a server of all these names can use the pair, which may be nil, at an instant.
func (p *keyPair) validFor(names []string, now time.Time) bool {
	return p.valid(now) && p.covers(names)
}

// valid reports whether a client that trusts the authority accepts the pair, which may be nil, at an instant. A pair that
// begins later was made by a replica whose clock is ahead, and is as good.
func (p *keyPair) valid(now time.Time) bool {
	return p != nil && now.Before(p.notAfter) && p.trusted(p.caBundle, now)
}

// trusted reports whether a client that trusts a bundle accepts the pair while it lasts.
func (p *keyPair) trusted(bundle []byte, now time.Time) bool {
	authorities, err := cert.ParseCertsPEM(bundle)
	return err == nil && p.verifySignedBy(authorities, now) == nil
}

// verifySignedBy returns an error where none of the authorities has signed a pair, directly or through the rest of its chain.
// That the pair is too young or too old is no reason.
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
			return fmt.Errorf("reading its chain: %w", err)
		}
		options.Intermediates.AddCert(between)
	}
	_, err := p.parsed.Leaf.Verify(options)
	return err
}

// covers reports whether the pair is for all these names.
func (p *keyPair) covers(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p.parsed.Leaf.VerifyHostname(name) != nil })
}

// names returns what the pair is for.
func (p *keyPair) names() []string {
	out := slices.Clone(p.parsed.Leaf.DNSNames)
	for _, ip := range p.parsed.Leaf.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}

// renewalTime is when the next pair has to be made.
func (p *keyPair) renewalTime() time.Time { return p.notAfter.Add(-p.notAfter.Sub(p.createdAt) / 3) }

// equal says whether two pairs, of which each may be nil, are the same.
func (p *keyPair) equal(other *keyPair) bool {
	if p == nil || other == nil {
		return p == other
	}
	return bytes.Equal(p.certificate, other.certificate)
}
