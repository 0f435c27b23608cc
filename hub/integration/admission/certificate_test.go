package admission

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

func checkCertificateFromFiles(t *testing.T, issue func(*testing.T) (certificate, key, authorities []byte)) {
	t.Helper()
	requireWebhooks(t)
	dir := t.TempDir()
	authorities := writeCertificate(t, dir, issue)
	stopManager()
	startManager(t, "--tls-cert-file="+filepath.Join(dir, "tls.crt"), "--tls-private-key-file="+filepath.Join(dir, "tls.key"),
		"--tls-ca-file="+filepath.Join(dir, "ca.crt"))
	t.Cleanup(stopManager)
	trusted := func(ctx context.Context) []byte {
		webhooks, err := shared.Client(t).AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "berth", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return webhooks.Webhooks[0].ClientConfig.CABundle
	}
	if !bytes.HasPrefix(trusted(t.Context()), authorities) {
		t.Error("the hub does not trust the authority in the file")
	}
	administrator := admin(t)
	next := writeCertificate(t, dir, issue)
	kit.Await(t, "the new certificates are trusted", func(ctx context.Context) error {
		wrong := set("wrong", labelSelector("a b", "c"))
		_, err := administrator.resourceFor(wrong).Create(ctx, asObject(wrong), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			t.Fatalf("Create = %v, want a response at any time", err)
		}
		if !bytes.HasPrefix(trusted(ctx), slices.Concat(authorities, next)) { // the CAs from before the manager stay trusted for a while
			return errors.New("the new CA is not trusted beside the old CA")
		}
		return nil
	})
	waitForWebhooks(t)
}

// writeCertificate stores a new certificate and returns its authorities.
func writeCertificate(t *testing.T, dir string, issue func(*testing.T) (certificate, key, authorities []byte)) []byte {
	t.Helper()
	certificate, key, authorities := issue(t)
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": authorities} {
		temporary := filepath.Join(dir, "."+name)
		kit.NoError(t, os.WriteFile(temporary, content, 0o600))
		kit.NoError(t, os.Rename(temporary, filepath.Join(dir, name)))
	}
	return authorities
}

// certificateOfCA returns a certificate that a CA has signed.
func certificateOfCA(t *testing.T) (certificate, key, authorities []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	chain := kit.Must(cert.ParseCertsPEM(certificate)).In(t)
	if authorities, err = cert.EncodeCertificates(chain[1]); err != nil {
		t.Fatal(err)
	}
	return certificate, key, authorities
}

// selfSignedCertificate returns what the Issuer and the Certificate of config/certmanager give. Its own key has signed it, and it is its
// only authority, although it is no CA.
func selfSignedCertificate(t *testing.T) (certificate, key, authorities []byte) {
	t.Helper()
	private := kit.Must(rsa.GenerateKey(rand.Reader, 2048)).In(t)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"berth.berth-system.svc", "berth-views.berth-system.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := kit.Must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)).In(t)
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}), certificate
}

// TestHubNeedsNoExtraStep starts a hub as users do, with the manager in its process.
func TestHubNeedsNoExtraStep(t *testing.T) {
	hub := hubtest.New(t, hubtest.Options{Manager: true})
	administrator := &user{name: "berth-admin"}
	administrator.connect(t, hub.Config())
	administrator.checkViews(t)
	jane := &user{name: "jane"}
	jane.connect(t, hub.ConfigFor(t, "jane", "system:authenticated"))
	object := cluster("c1", taints("gpu:NoSelect"))
	check(t, administrator.create(t.Context(), object), 0, "")
	stored := administrator.stored(t, object)
	if times := taintTimes(stored); len(times) != 1 || times[0] == "" || stored.GetLabels()[setLabel] != "default" {
		t.Errorf("stored %v, want the taint stamped and the default set, from the first request on", stored.Object)
	}
	check(t, administrator.create(t.Context(), placement("default", "bad", map[string]any{"predicates": cel("1")})), 422, denied("placements",
		`Placement.cluster.open-cluster-management.io "bad" is invalid: spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: `+
			`Invalid value: "1": compilation failed: the expression yields int, want bool`))
}

// checkViews checks that the first request to the views succeeds.
func (u *user) checkViews(t *testing.T) {
	t.Helper()
	sets := schema.GroupVersionResource{Group: "view.cluster.open-cluster-management.io", Version: "v1", Resource: "managedclustersets"}
	if _, err := u.client.Resource(sets).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("List = %v, want the views served once the hub is ready", err)
	}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	service := kit.Must(u.client.Resource(services).Get(t.Context(), "v1.view.cluster.open-cluster-management.io", metav1.GetOptions{})).In(t)
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	if len(conditions) != 1 || conditions[0].(map[string]any)["type"] != "Available" || conditions[0].(map[string]any)["status"] != "True" {
		t.Errorf("conditions %v of the APIService, want it available once the hub is ready", conditions)
	}
	if insecure, _, _ := unstructured.NestedBool(service.Object, "spec", "insecureSkipTLSVerify"); insecure {
		t.Error("the API server accepts any certificate of the views")
	}
}

// TestHubStartsAgain checks that the webhooks of the last manager do not block a start.
func TestHubStartsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := hubtest.New(t, hubtest.Options{DataDir: dir, Manager: true})
	kit.NoError(t, first.Stop())
	manifests := os.DirFS(writeManifest(t))
	second := hubtest.New(t, hubtest.Options{DataDir: dir, Manager: true, Manifests: manifests})
	administrator := &user{name: "berth-admin"}
	administrator.connect(t, second.Config())
	administrator.checkViews(t)
	if got := administrator.stored(t, cluster("c1")).GetLabels()[setLabel]; got != "default" {
		t.Errorf("a cluster of the user's own manifests is in %q, want it checked by the manager like any other", got)
	}
}

func writeManifest(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: c1}\n"
	kit.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.yaml"), []byte(text), 0o600))
	return dir
}
