package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/cert"
)

// caCertificate is a CA certificate of a trust bundle.
type caCertificate struct {
	pem      []byte
	notAfter time.Time
}

// parseCAs reads a trust bundle. Blocks that are not valid certificates are skipped.
func parseCAs(bundle []byte) []caCertificate {
	var out []caCertificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != cert.CertificateBlockType {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		out = append(out, caCertificate{pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: block.Bytes}), parsed.NotAfter})
	}
	return out
}

// unexpiredCAs returns the CAs that have not expired.
func unexpiredCAs(authorities []caCertificate, now time.Time) []caCertificate {
	return slices.DeleteFunc(slices.Clone(authorities), func(a caCertificate) bool { return !now.Before(a.notAfter) })
}

// appendCA returns a trust bundle that contains a CA exactly once.
func appendCA(bundle, authority []byte) []byte {
	if bytes.Contains(bundle, authority) {
		return bundle
	}
	return append(bundle, authority...)
}

// registeredCAs are the CAs that a leader finds in the registered objects at its start. They stay trusted for a while, since
// other replicas may still serve a key pair that they signed.
type registeredCAs struct {
	cas       []caCertificate
	keepUntil time.Time
}

// load reads the CAs once. After an error it reads again at the next call.
func (r *registeredCAs) load(ctx context.Context, registrar CAPublisher, now time.Time) error {
	if !r.keepUntil.IsZero() {
		return nil
	}
	bundles, err := registrar.CABundles(ctx)
	if err != nil && !apierrors.IsForbidden(err) { // the role of an earlier version has no permission to read
		return err
	}
	for _, bundle := range bundles {
		found := unexpiredCAs(parseCAs(bundle), now)
		r.cas = append(r.cas, found[:min(len(found), maxRetired)]...)
	}
	r.keepUntil = now.Add(2 * trustDelay)
	return nil
}

// appendTo returns a trust bundle with the registered CAs, until their time is over.
func (r *registeredCAs) appendTo(bundle []byte, now time.Time) []byte {
	if now.Before(r.keepUntil) {
		for _, authority := range r.cas {
			bundle = appendCA(bundle, authority.pem)
		}
	}
	return bundle
}

// remove removes a CA.
func (r *registeredCAs) remove(authority []byte) { r.cas = withoutCA(r.cas, authority) }

// withoutCA returns all CAs except one.
func withoutCA(authorities []caCertificate, one []byte) []caCertificate {
	return slices.DeleteFunc(slices.Clone(authorities), func(a caCertificate) bool { return bytes.Equal(a.pem, one) })
}
