package join

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// hashPrefix names the algorithm of a CA hash.
	hashPrefix = "sha256:"
	// dialTimeout bounds the first contact with a hub.
	dialTimeout = 10 * time.Second
	// defaultPort is the port of an https URL without one.
	defaultPort = "443"
)

// Endpoint is where a hub is reached, and its authority as PEM.
type Endpoint struct {
	URL       string
	Authority []byte
}

// FindEndpoint returns what the hub publishes for joins in kube-public/cluster-info, else what the caller itself uses.
func FindEndpoint(ctx context.Context, hub client.Client, own *rest.Config) (Endpoint, error) {
	info := &corev1.ConfigMap{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "cluster-info"}, info)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return Endpoint{}, fmt.Errorf("reading the URL of the hub: %w", err)
	}
	if published, failed := clientcmd.Load([]byte(info.Data["kubeconfig"])); err == nil && failed == nil {
		for _, cluster := range published.Clusters {
			return Endpoint{cluster.Server, cluster.CertificateAuthorityData}, nil
		}
	}
	loaded := rest.CopyConfig(own)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return Endpoint{}, fmt.Errorf("reading the authority of the hub: %w", err)
	}
	return Endpoint{loaded.Host, loaded.CAData}, nil
}

// Hash returns the SHA-256 hash of the public key of the first authority, as sha256:HEX.
func (e Endpoint) Hash() (string, error) {
	authorities, err := certutil.ParseCertsPEM(e.Authority)
	if err != nil {
		return "", fmt.Errorf("the authority of the hub cannot be read: %w", err)
	}
	return hashOf(authorities[0]), nil
}

func hashOf(authority *x509.Certificate) string {
	sum := sha256.Sum256(authority.RawSubjectPublicKeyInfo)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// Verify connects to a hub and returns the authority whose public key has the hash. Nothing is sent but the handshake, so that
// an impostor gets no token. The hub must present its authority beside its certificate, as berth-hub does.
func Verify(ctx context.Context, hub, hash string) (Endpoint, error) {
	address, err := url.Parse(hub)
	if err != nil || address.Scheme != "https" || address.Hostname() == "" {
		return Endpoint{}, fmt.Errorf("the URL %q of the hub is not of the form https://HOST:PORT", hub)
	}
	port := address.Port()
	if port == "" {
		port = defaultPort
	}
	var authority *x509.Certificate
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies, by the hash
		VerifyConnection: func(state tls.ConnectionState) (err error) {
			authority, err = verifyChain(state.PeerCertificates, address.Hostname(), hash)
			return err
		},
	}}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.Hostname(), port))
	if err != nil {
		return Endpoint{}, fmt.Errorf("verifying the hub at %s: %w", hub, err)
	}
	_ = connection.Close() // nothing was sent
	return Endpoint{hub, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: authority.Raw})}, nil
}

// verifyChain returns the authority with the hash among the presented certificates, if the first one is valid for the host under it.
func verifyChain(presented []*x509.Certificate, host, hash string) (*x509.Certificate, error) {
	for _, candidate := range presented {
		// A hub that replaces its authority also presents the new key in a certificate of the former authority, which is no root.
		if !candidate.IsCA || !bytes.Equal(candidate.RawIssuer, candidate.RawSubject) || hashOf(candidate) != hash {
			continue
		}
		roots, others := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(candidate)
		for _, other := range presented[1:] {
			others.AddCert(other)
		}
		if _, err := presented[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, DNSName: host}); err != nil {
			return nil, fmt.Errorf("its certificate is not valid: %w", err)
		}
		return candidate, nil
	}
	return nil, errors.New("no authority with the hash of --ca-hash is presented: check the URL and the hash, or give " +
		"the authority with --ca-file")
}

// BootstrapKubeconfig returns the kubeconfig with which an agent requests its first certificate.
func BootstrapKubeconfig(hub Endpoint, token string) ([]byte, error) {
	if len(bytes.TrimSpace(hub.Authority)) == 0 {
		return nil, errors.New("the authority of the hub is not known: give --ca-hash or --ca-file")
	}
	const name = "hub"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: hub.URL, CertificateAuthorityData: hub.Authority}
	config.AuthInfos["bootstrap"] = &api.AuthInfo{Token: token}
	config.Contexts["bootstrap"] = &api.Context{Cluster: name, AuthInfo: "bootstrap"}
	config.CurrentContext = "bootstrap"
	out, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the bootstrap kubeconfig: %w", err)
	}
	return out, nil
}
