package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certutil "k8s.io/client-go/util/cert"
)

var today = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	authority, err := Open(dir, "ca", today)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func TestAuthorityIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	first := open(t, dir)
	second := open(t, dir)
	if diff := cmp.Diff(string(first.CertPEM()), string(second.CertPEM())); diff != "" {
		t.Errorf("authority changed on the second Open (-want +got):\n%s", diff)
	}
	for _, name := range []string{"ca.crt", "ca.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, info.Mode().Perm())
		}
	}
}

func TestServerCertificateIsTrusted(t *testing.T) {
	authority := open(t, t.TempDir())
	pair, err := authority.Server(authority.End(), "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertPEM())
	leaf, err := parse(pair.Cert)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"127.0.0.1": true, "localhost": true, "example.org": false} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: today.Add(9 * 365 * 24 * time.Hour)})
		if (err == nil) != want {
			t.Errorf("Verify(%q) = %v, want trusted %t", host, err, want)
		}
	}
	if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
		t.Errorf("key does not fit the certificate: %v", err)
	}
}

func TestClientCertificateNamesUserAndGroups(t *testing.T) {
	pair, err := open(t, t.TempDir()).Client(today.AddDate(1, 0, 0), "jane", "dev", "ops")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := parse(pair.Cert)
	if err != nil {
		t.Fatal(err)
	}
	if leaf.Subject.CommonName != "jane" {
		t.Errorf("user = %q, want jane", leaf.Subject.CommonName)
	}
	if !leaf.NotAfter.Equal(today.AddDate(1, 0, 0)) || leaf.NotBefore.After(today.Add(-time.Hour)) {
		t.Errorf("it is valid from %s to %s", leaf.NotBefore, leaf.NotAfter)
	}
	if diff := cmp.Diff([]string{"dev", "ops"}, leaf.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestBadAuthorityIsRefusedNotReplaced(t *testing.T) {
	cases := map[string]struct {
		damage func(t *testing.T, dir string)
		now    time.Time
		want   string
	}{
		"certificate is garbage": {
			damage: func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, "ca.crt")) },
			now:    today, want: "data does not contain any valid RSA or ECDSA certificates",
		},
		"key is garbage": {
			damage: func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, "ca.key")) },
			now:    today, want: "data does not contain a valid RSA or ECDSA private key",
		},
		"key is missing": {
			damage: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "ca.key")) },
			now:    today, want: "is missing; restore it",
		},
		"authority is expired": {
			damage: func(*testing.T, string) {},
			now:    today.Add(Lifetime + time.Hour), want: "expired at 2036-11-17",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir)
			c.damage(t, dir)
			_, err := Open(dir, "ca", c.now)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("Open = %v, want an error with %q and the folder", err, c.want)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Error("a lost key looks like a first start")
			}
		})
	}
}

func TestSigningKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	path, err := SigningKey(dir, "tokens")
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, path)
	if _, err := SigningKey(dir, "tokens"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, read(t, path)); diff != "" {
		t.Errorf("key changed on the second call (-want +got):\n%s", diff)
	}
	overwrite(t, path)
	if _, err := SigningKey(dir, "tokens"); err == nil || read(t, path) != "garbage" {
		t.Errorf("SigningKey = %v, want an error, and the key left alone", err)
	}
}

func parse(data []byte) (*x509.Certificate, error) {
	certs, err := certutil.ParseCertsPEM(data)
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

func overwrite(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestClientsOfTheCertifyingAuthorityTrustTheOther(t *testing.T) {
	old := open(t, t.TempDir())
	dir := t.TempDir()
	next, err := Open(dir, "next", today)
	if err != nil {
		t.Fatal(err)
	}
	between, err := old.Certify(next)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := next.Server(next.End(), "localhost")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := parse(pair.Cert)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		root, between []byte
		want          bool
	}{
		"a client of the other authority":          {next.CertPEM(), nil, true},
		"a client of the certifying authority":     {old.CertPEM(), between, true},
		"a client that gets no certificate for it": {old.CertPEM(), nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			roots, others := x509.NewCertPool(), x509.NewCertPool()
			roots.AppendCertsFromPEM(test.root)
			others.AppendCertsFromPEM(test.between)
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, DNSName: "localhost", CurrentTime: today})
			if trusted := err == nil; trusted != test.want {
				t.Errorf("trusted = %t, want %t: %v", trusted, test.want, err)
			}
		})
	}
	if err := errors.Join(Remove(dir, "next"), Remove(dir, "next")); err != nil {
		t.Error(err)
	}
	if _, err := Existing(dir, "next", today); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the removal: %v", err)
	}
}
