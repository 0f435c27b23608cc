package approval

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// minRSABits is the size of the smallest RSA key that is approved.
const minRSABits = 2048

const blockType = "CERTIFICATE REQUEST"

var (
	errNoPEM   = errors.New("spec.request is not one PEM block of the type " + blockType)
	errNames   = errors.New("spec.request has DNS names, IP addresses, URIs or e-mail addresses; the certificate of an agent has none")
	errSubject = errors.New("the subject has more than one common name, or attributes other than the common name and organizations")
)

// checkRequest checks what does not depend on the cluster. Name is the common name, a user of an agent of the cluster in the
// label. A request for any other user is left to other approvers.
func checkRequest(csr *certificatesv1.CertificateSigningRequest, label string) (name string, decision Decision) {
	request, err := parse(csr.Spec.Request)
	if err != nil {
		return "", deny(ReasonInvalid, "%v", err)
	}
	name = request.Subject.CommonName
	cluster, _, ok := registration.ParseAgentUser(name)
	if !ok {
		return "", wait(ReasonNoAgent, "the common name %q is not the user of an agent", name)
	}
	if cluster != label {
		return "", deny(ReasonContradiction, "the common name %q is the user of an agent of cluster %s, the label names cluster %s", name,
			cluster, label)
	}
	organizations := slices.DeleteFunc(slices.Clone(request.Subject.Organization),
		func(o string) bool { return o == registration.AgentsGroup })
	if len(organizations) != 1 || organizations[0] != registration.AgentGroup(label) || len(request.Subject.Organization) > 2 {
		return "", deny(ReasonContradiction, "the organizations are %q; cluster %s has %q and, optionally, %q",
			request.Subject.Organization, label, registration.AgentGroup(label), registration.AgentsGroup)
	}
	if err := errors.Join(checkSubject(request), checkKey(request.PublicKey), checkUsages(csr.Spec.Usages), checkUID(csr)); err != nil {
		return "", deny(ReasonInvalid, "%v", err)
	}
	return name, Decision{Action: Approve}
}

// parse returns a certificate request whose signature is valid.
func parse(data []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != blockType || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errNoPEM
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing spec.request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("checking the signature of spec.request: %w", err)
	}
	return request, nil
}

// checkSubject rejects alternative names. A second common name would be another user for a signer that reads the first.
func checkSubject(request *x509.CertificateRequest) error {
	if len(request.DNSNames)+len(request.IPAddresses)+len(request.URIs)+len(request.EmailAddresses) > 0 || hasAlternativeNames(request) {
		return errNames
	}
	if len(request.Subject.Names) != len(request.Subject.Organization)+1 {
		return errSubject
	}
	return nil
}

// hasAlternativeNames reports whether a request has the extension for alternative names, whose other kinds x509 does not parse.
func hasAlternativeNames(request *x509.CertificateRequest) bool {
	for _, extension := range request.Extensions {
		if extension.Id.Equal([]int{2, 5, 29, 17}) {
			return true
		}
	}
	return false
}

func checkKey(key any) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() {
			return nil
		}
	case *rsa.PublicKey:
		if key.N.BitLen() >= minRSABits {
			return nil
		}
	}
	return fmt.Errorf("the key is not ECDSA P-256 or P-384, Ed25519, or RSA with %d bits or more", minRSABits)
}

// checkUID bounds the UID that a member reports, since the hub stores it.
func checkUID(csr *certificatesv1.CertificateSigningRequest) error {
	uid := csr.Annotations[clusterv1.ClusterUIDAnnotationKey]
	if uid != "" && len(validation.IsDNS1123Label(uid)) > 0 {
		return fmt.Errorf("the annotation %s is not a UID: at most %d lower-case letters, digits and hyphens", clusterv1.ClusterUIDAnnotationKey,
			validation.DNS1123LabelMaxLength)
	}
	return nil
}

func checkUsages(usages []certificatesv1.KeyUsage) error {
	allowed := []certificatesv1.KeyUsage{
		certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
		certificatesv1.UsageClientAuth,
	}
	for _, usage := range usages {
		if !slices.Contains(allowed, usage) {
			return fmt.Errorf("spec.usages has %q; allowed are %q", usage, allowed)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("spec.usages lacks %q", certificatesv1.UsageClientAuth)
	}
	return nil
}
