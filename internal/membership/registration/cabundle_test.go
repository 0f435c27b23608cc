package registration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"

	"github.com/berth-project/berth/internal/membership/registration"
)

// newCA returns a certificate in PEM.
func newCA(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCABundleHashDependsOnTheCertificatesOnly(t *testing.T) {
	a, b := newCA(t, "a"), newCA(t, "b")
	want, err := registration.CABundleHash(slices.Concat(a, b))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		bundle []byte
		same   bool
	}{
		"the same bundle":            {slices.Concat(a, b), true},
		"another order":              {slices.Concat(b, a), true},
		"a certificate twice":        {slices.Concat(a, b, a), true},
		"comments between":           {slices.Concat([]byte("# first\n"), a, []byte("\n# second\n"), b), true},
		"one of the certificates":    {a, false},
		"no certificate":             {[]byte("none"), false},
		"a certificate that is torn": {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := registration.CABundleHash(test.bundle)
			if same := err == nil && got == want; same != test.same {
				t.Errorf("CABundleHash = %q, %v; want the same: %t", got, err, test.same)
			}
		})
	}
}
