package registration

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// CAHashAnnotationKey is an annotation that an agent sets on its ManagedCluster: the hash of the CA bundle with which it
// verifies the hub, as CABundleHash returns it. The hub may retire a CA once every agent has the hash of a bundle with the next
// CA.
const CAHashAnnotationKey = "agent.open-cluster-management.io/hub-ca-hash"

var errNoCertificate = errors.New("the CA bundle has no certificate")

// CABundle returns the certificates of a PEM bundle in DER, sorted and each once.
func CABundle(bundle []byte) ([][]byte, error) {
	var out [][]byte
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("parsing the CA bundle: %w", err)
		}
		out = append(out, block.Bytes)
	}
	if len(out) == 0 {
		return nil, errNoCertificate
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal), nil
}

// CABundleHash returns the SHA-256 of a PEM bundle in hexadecimal. It hashes the certificates in DER, sorted and each once, so
// that order, comments and line ends do not matter.
func CABundleHash(bundle []byte) (string, error) {
	certificates, err := CABundle(bundle)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(slices.Concat(certificates...))
	return hex.EncodeToString(sum[:]), nil
}
