// Package csr obtains and renews the client certificate of an agent.
//
// It owns the request, its key and the rule for renewal. It approves and signs nothing. The invariant: a key leaves memory only
// with its certificate, and one process has at most one request that is not decided.
package csr

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/credential"
	"github.com/berth-project/berth/internal/membership/registration"
)

// newKey returns a new key, and the same key in PEM.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// newRequest returns the object that requests a certificate for a key. uid is the UID of the member's kube-system namespace.
// A lifetime of 0 leaves the lifetime to the hub.
func newRequest(names credential.Names, uid string, lifetime time.Duration,
	key *ecdsa.PrivateKey,
) (*certificatesv1.CertificateSigningRequest, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName:   names.User(),
		Organization: []string{registration.AgentGroup(names.Cluster), registration.AgentsGroup},
	}}, key)
	if err != nil {
		return nil, fmt.Errorf("encoding a certificate request: %w", err)
	}
	out := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: names.Cluster + "-",
			Labels:       map[string]string{clusterv1.ClusterNameLabelKey: names.Cluster},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth,
			},
		},
	}
	if uid != "" {
		out.Annotations = map[string]string{clusterv1.ClusterUIDAnnotationKey: uid}
	}
	if lifetime > 0 {
		seconds := int32(lifetime / time.Second) //nolint:gosec // the flag is bounded
		out.Spec.ExpirationSeconds = &seconds
	}
	return out, nil
}

// State is how far a request is.
type State int

// States of a request. A denied or failed request is waited for until the hub removes it, so that an agent that is refused does
// not fill the hub with requests.
const (
	// Pending means that the request is not decided, or approved and not signed.
	Pending State = iota
	// Denied means that the hub denied the request.
	Denied
	// Failed means that the hub approved the request and could not sign it.
	Failed
	// Issued means that the request has its certificate.
	Issued
)

// Inspect returns the state of a request, and the hub's message where it is denied or failed.
func Inspect(request *certificatesv1.CertificateSigningRequest) (state State, message string) {
	for _, condition := range request.Status.Conditions {
		switch {
		case condition.Status == corev1.ConditionFalse:
		case condition.Type == certificatesv1.CertificateDenied:
			return Denied, condition.Message
		case condition.Type == certificatesv1.CertificateFailed:
			return Failed, condition.Message
		}
	}
	if len(request.Status.Certificate) > 0 {
		return Issued, ""
	}
	return Pending, ""
}
