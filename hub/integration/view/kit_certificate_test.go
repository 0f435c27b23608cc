package view

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	viewconfig "github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// replica is a manager among several of a hub. It serves webhooks and views.
type replica struct {
	*hubtest.Manager
	// servers are its addresses by the host that the certificate must contain.
	servers map[string]string
}

// startReplica starts a manager.
func startReplica(t *testing.T, hub *hubtest.Hub, opts hubtest.ManagerOptions) *replica {
	t.Helper()
	views := hubtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(views)
	if err != nil {
		t.Fatal(err)
	}
	opts.Webhooks = true
	opts.Args = append([]string{"--view-bind-address=" + views, "--view-service-port=" + port}, opts.Args...)
	m := hubtest.StartManager(t, hub, opts)
	return &replica{m, map[string]string{"127.0.0.1": m.WebhookAddress, viewconfig.ServerName: views}}
}

// observer reads a hub as its users do, and connects to its managers as the API server does.
type observer struct {
	*hubtest.Hub
	dynamic.Interface
	typed kubernetes.Interface
}

func newObserver(t *testing.T, hub *hubtest.Hub) observer {
	t.Helper()
	return observer{hub, clientFor(t, "berth-admin", hub.Config()).Interface, hub.Client(t)}
}

// caBundle is the CA bundle with which the API server verifies the server of a host.
type caBundle struct {
	host        string
	authorities []byte
}

// bundles returns the CA bundles of all registered objects.
func (o observer) bundles(ctx context.Context) ([]caBundle, error) {
	checks, err := o.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "berth", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	defaults, err := o.typed.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "berth", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	views, err := o.Resource(apiServices).Get(ctx, "v1.view.cluster.open-cluster-management.io", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	encoded, _, err := unstructured.NestedString(views.Object, "spec", "caBundle")
	if err != nil {
		return nil, err
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	out := []caBundle{{viewconfig.ServerName, decoded}, {"127.0.0.1", defaults.Webhooks[0].ClientConfig.CABundle}}
	for _, webhook := range checks.Webhooks {
		out = append(out, caBundle{"127.0.0.1", webhook.ClientConfig.CABundle})
	}
	return out, nil
}

// webhookURL returns the URL of the webhooks.
func (o observer) webhookURL(ctx context.Context) (string, error) {
	checks, err := o.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "berth", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return *checks.Webhooks[0].ClientConfig.URL, nil
}

// servedCertificates checks that all servers of some replicas are trusted, and returns their certificates.
func (o observer) servedCertificates(ctx context.Context, replicas ...*replica) (out [][]byte, err error) {
	bundles, err := o.bundles(ctx)
	if err != nil {
		return nil, err
	}
	for _, replica := range replicas {
		for _, bundle := range bundles {
			trusted := x509.NewCertPool()
			trusted.AppendCertsFromPEM(bundle.authorities)
			dialer := &tls.Dialer{Config: &tls.Config{RootCAs: trusted, ServerName: bundle.host}}
			connection, err := dialer.DialContext(ctx, "tcp", replica.servers[bundle.host])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", bundle.host, err)
			}
			out = append(out, connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
			if err := connection.Close(); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// checkAnswers returns an error unless the API server gets responses from webhooks and views.
func (o observer) checkAnswers(ctx context.Context) error {
	wrong := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": realSets.GroupVersion().String(), "kind": "ManagedClusterSet", "metadata": map[string]any{"name": "wrong"},
		"spec": map[string]any{"clusterSelector": map[string]any{
			"selectorType": "LabelSelector", "labelSelector": map[string]any{"matchLabels": map[string]any{"no key": ""}},
		}},
	}}
	_, err := o.Resource(realSets).Create(ctx, wrong, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsInvalid(err) {
		return fmt.Errorf("storing an invalid set: %w", errors.Join(err, errors.New("not refused")))
	}
	_, err = o.Resource(setViews).List(ctx, metav1.ListOptions{})
	return err
}

// secret returns the data of the Secret and its resource version.
func (o observer) secret(t *testing.T) (data map[string][]byte, version string) {
	t.Helper()
	secret := kit.Must(o.typed.CoreV1().Secrets("berth-system").Get(t.Context(), "berth-serving", metav1.GetOptions{})).In(t)
	return secret.Data, secret.ResourceVersion
}

// storedLeaf returns the stored certificate, or nil.
func (o observer) storedLeaf(ctx context.Context) []byte {
	secret, err := o.typed.CoreV1().Secrets("berth-system").Get(ctx, "berth-serving", metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return leafDER(secret.Data["tls.crt"])
}

// leafDER returns the first certificate of a PEM file, or nil.
func leafDER(data []byte) []byte {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil
	}
	return block.Bytes
}

// newAgedKeyPair makes a self-signed key pair with a creation time in the past, so that its delay ends soon.
func newAgedKeyPair(t *testing.T, ago time.Duration) (certificate, key []byte) {
	t.Helper()
	const backdated = time.Hour // as the manager's own are
	authorityKey, serverKey := newKey(t), newKey(t)
	since := time.Now().Add(-backdated - ago)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(since.UnixNano()), Subject: pkix.Name{CommonName: "next"}, NotBefore: since, NotAfter: since.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(since.UnixNano() + 1), Subject: pkix.Name{CommonName: "server"}, NotBefore: since, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "berth.berth-system.svc", viewconfig.ServerName}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	var blocks bytes.Buffer
	for _, made := range []struct {
		certificate *x509.Certificate
		key         *ecdsa.PrivateKey
	}{{server, serverKey}, {authority, authorityKey}} {
		der := kit.Must(x509.CreateCertificate(rand.Reader, made.certificate, authority, made.key.Public(), authorityKey)).In(t)
		blocks.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der := kit.Must(x509.MarshalPKCS8PrivateKey(serverKey)).In(t)
	return blocks.Bytes(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key := kit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).In(t)
	return key
}
