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

// authority is a certificate that the API server may trust.
type authority struct {
	pem   []byte
	until time.Time
}

// parseAuthorities reads a trust bundle. What is no certificate is left out: it is trusted by no one.
func parseAuthorities(bundle []byte) []authority {
	var out []authority
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != cert.CertificateBlockType {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		out = append(out, authority{pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: block.Bytes}), parsed.NotAfter})
	}
	return out
}

// unexpired returns the authorities that have not ended at an instant.
func unexpired(authorities []authority, now time.Time) []authority {
	return slices.DeleteFunc(slices.Clone(authorities), func(a authority) bool { return !now.Before(a.until) })
}

// joined returns a trust bundle with an authority in it once.
func joined(bundle, authority []byte) []byte {
	if bytes.Contains(bundle, authority) {
		return bundle
	}
	return append(bundle, authority...)
}

// inheritance is the authorities that a leader finds registered at its start. They stay trusted for a while, since other
// replicas may serve a pair of theirs: they run another configuration, or have not read another pair yet.
type inheritance struct {
	authorities []authority
	until       time.Time
}

// read reads them, the first time that it can.
func (i *inheritance) read(ctx context.Context, registrar Registrar, now time.Time) error {
	if !i.until.IsZero() {
		return nil
	}
	bundles, err := registrar.Trusted(ctx)
	if err != nil && !apierrors.IsForbidden(err) { // a role of an earlier version does not let it read
		return err
	}
	for _, bundle := range bundles {
		found := unexpired(parseAuthorities(bundle), now)
		i.authorities = append(i.authorities, found[:min(len(found), maxRetired)]...)
	}
	i.until = now.Add(2 * overlap)
	return nil
}

// join returns a trust bundle with the inherited authorities, as long as they are to stay.
func (i *inheritance) join(bundle []byte, now time.Time) []byte {
	if now.Before(i.until) {
		for _, authority := range i.authorities {
			bundle = joined(bundle, authority.pem)
		}
	}
	return bundle
}

// forget removes an authority.
func (i *inheritance) forget(authority []byte) { i.authorities = except(i.authorities, authority) }

// except returns the authorities but for one.
func except(authorities []authority, one []byte) []authority {
	return slices.DeleteFunc(slices.Clone(authorities), func(a authority) bool { return bytes.Equal(a.pem, one) })
}
