// Package pki makes the hub's certificates.
//
// It owns certificate authorities and the pairs they sign. It knows nothing of
// who uses them. The invariant: an authority is created once and kept, since
// kubeconfigs people copied trust it; the pairs it signs are cheap and may be
// made anew at every start, so nothing but the authority ever needs renewing.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	lifetime = 10 * 365 * 24 * time.Hour
	// backdate tolerates a clock that was set back since the authority was made.
	backdate = time.Hour
)

// Authority signs certificates. It is read-only after Open and safe for
// concurrent use.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	file string
}

// Pair is a certificate with its private key, both as PEM.
type Pair struct {
	Cert, Key []byte
}

// End returns when the certificate ends. It panics on a pair that was not signed here.
func (p Pair) End() time.Time {
	cert, err := parseCert(p.Cert)
	if err != nil {
		panic("pki: a pair without a certificate: " + err.Error())
	}
	return cert.NotAfter
}

// Open reads the authority called name from dir, or creates it there on the
// first call. An authority that is expired or cannot be read is an error, never
// replaced: replacing it would cut off everybody who trusts it.
func Open(dir, name string, now time.Time) (*Authority, error) {
	path := filepath.Join(dir, name+".crt")
	pair, err := readPair(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err = create(dir, name, now)
	}
	if err != nil {
		return nil, err
	}
	return authority(path, dir, pair, now)
}

// Existing reads the authority called name from dir. An authority that is not there is an error that wraps fs.ErrNotExist.
func Existing(dir, name string, now time.Time) (*Authority, error) {
	pair, err := readPair(dir, name)
	if err != nil {
		return nil, err
	}
	return authority(filepath.Join(dir, name+".crt"), dir, pair, now)
}

func authority(path, dir string, pair Pair, now time.Time) (*Authority, error) {
	cert, err := parseCert(pair.Cert)
	if err != nil {
		return nil, fmt.Errorf("reading certificate authority %s: %w", path, err)
	}
	key, err := parseKey(pair.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the key of certificate authority %s: %w", path, err)
	}
	if now.After(cert.NotAfter) {
		return nil, fmt.Errorf("using certificate authority %s: expired at %s; delete %s to get a new one and fetch the kubeconfig again",
			path, cert.NotAfter.Format(time.DateOnly), dir)
	}
	return &Authority{cert: cert, key: key, file: path}, nil
}

// CertFile returns the path of the PEM file with the authority's certificate.
func (a *Authority) CertFile() string { return a.file }

// CertPEM returns the authority's certificate.
func (a *Authority) CertPEM() []byte { return encodeCert(a.cert.Raw) }

// Client returns a client certificate for a user in the given groups, which lives as long as the authority.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.sign(client(user, groups))
}

// ClientUntil returns a client certificate that ends at an instant, or with the authority where that is earlier. It is valid
// from a little before now, for clocks that are behind.
func (a *Authority) ClientUntil(now, end time.Time, user string, groups ...string) (Pair, error) {
	template := client(user, groups)
	template.NotBefore, template.NotAfter = now.Add(-backdate), end
	return a.sign(template)
}

func client(user string, groups []string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// Server returns a serving certificate for the given hosts, each a DNS name or
// an IP address. It serves as a client certificate as well, because etcd dials
// its own listener.
func (a *Authority) Server(hosts ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

// sign completes the template and signs it. The pair lives as long as its
// authority where the template does not say otherwise, and never longer.
func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating a key for %q: %w", template.Subject.CommonName, err)
	}
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	template.SerialNumber = serial
	if template.NotBefore.Before(a.cert.NotBefore) {
		template.NotBefore = a.cert.NotBefore
	}
	if template.NotAfter.IsZero() || template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing a certificate for %q: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encodeCert(der), Key: keyPEM}, nil
}

// create makes a self-signed authority and stores it.
func create(dir, name string, now time.Time) (Pair, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Pair{}, fmt.Errorf("creating the certificate folder: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating the key of authority %q: %w", name, err)
	}
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "berth-hub-" + name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing authority %q: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{Cert: encodeCert(der), Key: keyPEM}
	_, err = pair.Write(dir, name)
	return pair, err
}

// newSerial returns a random serial number, so two pairs never share one.
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	return serial, nil
}
