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

// pair is a serving certificate with its authority, and the key. It is immutable.
type pair struct {
	// certificate is PEM, the leaf first, and the authority second where the pair is our own; key is PEM.
	certificate, key []byte
	parsed           tls.Certificate
	// authority is PEM, and may be empty where somebody else tells whom to trust.
	authority []byte
	// since is when the pair was made, or first found; until is when it ends.
	since, until time.Time
}

// issue makes a pair for the names of a server, DNS names or IP addresses.
func issue(names []string) (*pair, error) {
	options := cert.SelfSignedCertKeyOptions{Host: names[0], MaxAge: life}
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
	return parse(certificate, key)
}

// parse reads a pair of our own, whose authority is with it.
func parse(certificate, key []byte) (*pair, error) {
	out, err := read(certificate, key)
	if err != nil {
		return nil, err
	}
	if len(out.parsed.Certificate) < 2 {
		return nil, errNoAuthority
	}
	out.authority = pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: out.parsed.Certificate[1]})
	out.since = out.parsed.Leaf.NotBefore.Add(backdated)
	return out, nil
}

// read reads a pair without its authority.
func read(certificate, key []byte) (*pair, error) {
	parsed, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	return &pair{certificate: certificate, key: key, parsed: parsed, until: parsed.Leaf.NotAfter}, nil
}

// of returns the pair as old as another that is the same.
func (p *pair) of(older *pair) *pair {
	out := *p
	out.since = older.since
	return &out
}

// serves reports whether a server of all these names can use the pair, which may be nil, at an instant.
func (p *pair) serves(names []string, now time.Time) bool { return p.valid(now) && p.covers(names) }

// valid reports whether a client that trusts the authority accepts the pair, which may be nil, at an instant. A pair that
// begins later was made by a replica whose clock is ahead, and is as good.
func (p *pair) valid(now time.Time) bool {
	return p != nil && now.Before(p.until) && p.trusted(p.authority, now)
}

// trusted reports whether a client that trusts a bundle accepts the pair while it lasts.
func (p *pair) trusted(bundle []byte, now time.Time) bool {
	authorities, err := cert.ParseCertsPEM(bundle)
	return err == nil && p.signedBy(authorities, now) == nil
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

// covers reports whether the pair is for all these names.
func (p *pair) covers(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return p.parsed.Leaf.VerifyHostname(name) != nil })
}

// names returns what the pair is for.
func (p *pair) names() []string {
	out := slices.Clone(p.parsed.Leaf.DNSNames)
	for _, ip := range p.parsed.Leaf.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}

// due is when the next pair has to be made.
func (p *pair) due() time.Time { return p.until.Add(-p.until.Sub(p.since) / 3) }

// same says whether two pairs, of which each may be nil, are the same.
func (p *pair) same(other *pair) bool {
	if p == nil || other == nil {
		return p == other
	}
	return bytes.Equal(p.certificate, other.certificate)
}
