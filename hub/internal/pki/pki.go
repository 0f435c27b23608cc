// Package pki creates the certificates of the hub.
//
// It owns certificate authorities and the key pairs that they sign. Encoding and parsing are client-go's. It does not choose
// users and hosts. The invariant: an authority is created once and kept, because copied kubeconfigs trust it. A signed key
// pair may be replaced at every start.
package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// Lifetime is how long an authority is valid.
	Lifetime = 10 * 365 * 24 * time.Hour
	// backdate is how far before its creation a certificate is valid, for clocks that are behind.
	backdate = time.Hour
)

// Authority signs certificates. It is read-only and safe for concurrent use.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	file string
}

// Pair is a certificate with its private key, both as PEM.
type Pair struct {
	Cert, Key []byte
	// End is when the certificate expires.
	End time.Time
}

// Files names the two files of a stored pair.
type Files struct{ Cert, Key string }

// Open reads the authority called name from dir, or creates it there on the first call. An authority that is expired or
// unreadable is an error. It is never replaced, because its clients would no longer trust the hub.
func Open(dir, name string, now time.Time) (*Authority, error) {
	existing, err := Existing(dir, name, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return existing, err
	}
	return Create(dir, name, "berth-hub-"+name, now, now)
}

// Create creates an authority called name in dir, and replaces a former one. Its subject must differ from that of an authority
// which signs for the same verifiers. It is valid from start, which is now or earlier.
func Create(dir, name, subject string, start, now time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the certificate folder: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: subject},
		NotBefore:             start.Add(-backdate),
		NotAfter:              now.Add(Lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	pair, err := sign(template, nil)
	if err != nil {
		return nil, err
	}
	if _, err := pair.Write(dir, name); err != nil {
		return nil, err
	}
	return Existing(dir, name, now)
}

// ErrExpired is returned for an authority whose certificate is no longer valid.
var ErrExpired = errors.New("it has expired")

// Existing reads the authority called name from dir. The error wraps fs.ErrNotExist when the authority was never created, and ErrExpired
// after the end of its certificate.
func Existing(dir, name string, now time.Time) (*Authority, error) {
	files := filesIn(dir, name)
	certPEM, err := os.ReadFile(files.Cert)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(files.Key)
	if errors.Is(err, fs.ErrNotExist) {
		// Not wrapped: a lost key must not look like an authority that was never created.
		return nil, fmt.Errorf("reading the key of %s: %s is missing; restore it, or delete %s to get new certificates", files.Cert, files.Key,
			dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of %s: %w", files.Cert, err)
	}
	certs, err := certutil.ParseCertsPEM(certPEM)
	if err != nil {
		return nil, fmt.Errorf("reading certificate authority %s: %w", files.Cert, err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the key of certificate authority %s: %w", files.Cert, err)
	}
	if now.After(certs[0].NotAfter) {
		return nil, fmt.Errorf("using certificate authority %s: %w at %s; delete %s to get a new one and fetch the kubeconfig again",
			files.Cert, ErrExpired, certs[0].NotAfter.Format(time.DateOnly), dir)
	}
	return &Authority{cert: certs[0], key: key, file: files.Cert}, nil
}

// CertFile returns the path of the PEM file with the authority's certificate.
func (a *Authority) CertFile() string { return a.file }

// KeyFile returns the path of the PEM file with the authority's private key.
func (a *Authority) KeyFile() string { return strings.TrimSuffix(a.file, ".crt") + ".key" }

// CertPEM returns the authority's certificate.
func (a *Authority) CertPEM() []byte { return encodeCert(a.cert.Raw) }

// Start returns from when on the authority is valid, by clocks that are not behind.
func (a *Authority) Start() time.Time { return a.cert.NotBefore.Add(backdate) }

// End returns when the certificate expires.
func (a *Authority) End() time.Time { return a.cert.NotAfter }

// Until returns the certificate of the authority with another end. Verifiers that trust it instead trust the authority until then.
func (a *Authority) Until(end time.Time) ([]byte, error) {
	template := *a.cert
	template.SerialNumber, template.SignatureAlgorithm = nil, 0 // new ones
	if template.NotAfter.After(end) {
		template.NotAfter = end
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("limiting authority %s: %w", a.file, err)
	}
	return encodeCert(der), nil
}

// Certify returns a certificate for the key of another authority. With it beside a certificate that the other authority signed,
// clients that trust this authority accept that certificate.
func (a *Authority) Certify(other *Authority) ([]byte, error) {
	template := *other.cert
	template.SerialNumber, template.SignatureAlgorithm = nil, 0 // new ones
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, other.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("certifying authority %s: %w", other.file, err)
	}
	return encodeCert(der), nil
}

// Client returns a client certificate for a user in the given groups. It is valid from the creation of the authority, because the clock
// may be set back later, and expires at end, or with the authority if that is earlier.
func (a *Authority) Client(end time.Time, user string, groups ...string) (Pair, error) {
	return sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter:    end,
	}, a)
}

// Server returns a serving certificate for the given hosts, each a DNS name or an IP address. It is a client certificate as
// well, because etcd dials its own listener. It is valid from the creation of the authority, for clients whose clocks are behind, and
// expires at end, or with the authority if that is earlier.
func (a *Authority) Server(end time.Time, hosts ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotAfter:    end,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, a)
}

// sign creates a key and signs its certificate with an authority, within the lifetime of the authority. Without an authority,
// the certificate signs itself.
func sign(template *x509.Certificate, by *Authority) (Pair, error) {
	name := template.Subject.CommonName
	keyPEM, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return Pair{}, fmt.Errorf("generating a key for %q: %w", name, err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return Pair{}, fmt.Errorf("generating a key for %q: %w", name, err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
		template.KeyUsage = x509.KeyUsageDigitalSignature
		if template.NotBefore.Before(parent.NotBefore) {
			template.NotBefore = parent.NotBefore
		}
		if template.NotAfter.After(parent.NotAfter) {
			template.NotAfter = parent.NotAfter
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("signing a certificate for %q: %w", name, err)
	}
	return Pair{Cert: encodeCert(der), Key: keyPEM, End: template.NotAfter.Truncate(time.Second)}, nil
}

// EncodeCert returns a certificate as PEM.
func EncodeCert(cert *x509.Certificate) []byte { return encodeCert(cert.Raw) }

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}

func parseKey(data []byte) (crypto.Signer, error) {
	key, err := keyutil.ParsePrivateKeyPEM(data)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the key of type %T cannot sign", key)
	}
	return signer, nil
}

// filesIn returns the paths of the pair called name.
func filesIn(dir, name string) Files {
	return Files{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
}

// Write stores the pair in dir as name.crt and name.key. It writes the key first, so that a stored certificate always has its
// key, also after a crash.
func (p Pair) Write(dir, name string) (Files, error) {
	files := filesIn(dir, name)
	if err := WriteFile(files.Key, p.Key); err != nil {
		return Files{}, err
	}
	return files, WriteFile(files.Cert, p.Cert)
}

// Remove removes the pair called name from dir, where it is.
func Remove(dir, name string) error {
	files := filesIn(dir, name)
	for _, path := range []string{files.Key, files.Cert} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a key pair: %w", err)
		}
	}
	return nil
}

// SigningKey returns the path of the private key called name in dir, which it creates on the first call. A key that is
// unreadable is an error and is never replaced, because the tokens that it signed must stay valid.
func SigningKey(dir, name string) (string, error) {
	path := filesIn(dir, name).Key
	if _, _, err := keyutil.LoadOrGenerateKeyFile(path); err != nil {
		return "", fmt.Errorf("reading the signing key: %w", err)
	}
	return path, nil
}

// WriteFile replaces a whole file. Only its owner can read the new file.
func WriteFile(path string, data []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".next-*") // has mode 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(next.Name()) //nolint:errcheck // after the rename there is no such file
	_, err = next.Write(data)
	if err := errors.Join(err, next.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
