package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
	"github.com/berth-project/berth/internal/membership/registration"
)

// signedLifetime is the longest lifetime that the hub signs for.
const signedLifetime = 90 * 24 * time.Hour

// newRequest returns a request for a client certificate, and the private key of it.
func newRequest(t *testing.T, user string, groups ...string) (request *certificatesv1.CertificateSigningRequest, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user, Organization: groups},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "signing-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth,
			},
		},
	}, keyPEM
}

// approve stores a request and approves it.
func approve(ctx context.Context, t *testing.T, client kubernetes.Interface, request *certificatesv1.CertificateSigningRequest) string {
	t.Helper()
	requests := client.CertificatesV1().CertificateSigningRequests()
	stored := kit.Must(requests.Create(ctx, request, metav1.CreateOptions{})).In(t)
	stored.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "approved by a test",
	}}
	kit.Must(requests.UpdateApproval(ctx, stored.Name, stored, metav1.UpdateOptions{})).In(t)
	return stored.Name
}

// TestTheHubSignsApprovedRequestsOfAgents follows a request to a certificate, and uses the certificate.
func TestTheHubSignsApprovedRequestsOfAgents(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(shared.Config())
	user := registration.AgentUser("c1", "a1")
	groups := []string{registration.AgentGroup("c1"), registration.AgentsGroup}
	request, key := newRequest(t, user, groups...)
	request.Spec.ExpirationSeconds = new(int32(365 * 24 * 3600))
	name := approve(t.Context(), t, client, request)
	var certificate []byte
	kit.Await(t, "the certificate is issued", func(ctx context.Context) error {
		found, err := client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(found.Status.Certificate) == 0 {
			err = errors.New("no certificate is issued")
		}
		if err == nil {
			certificate = found.Status.Certificate
		}
		return err
	})
	block, _ := pem.Decode(certificate)
	parsed := kit.Must(x509.ParseCertificate(block.Bytes)).In(t)
	if got := parsed.NotAfter.Sub(parsed.NotBefore); got > signedLifetime+time.Hour {
		t.Errorf("the certificate lives %s, want at most %s although a year was requested", got, signedLifetime)
	}
	if !strings.Contains(parsed.Issuer.CommonName, "agents-ca") {
		t.Errorf("the issuer is %s, want the authority of agents", parsed.Issuer)
	}
	config := rest.AnonymousClientConfig(shared.Config())
	config.CertData, config.KeyData = certificate, key
	self, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("using the certificate: %v", err)
	}
	if got := self.Status.UserInfo; got.Username != user || !slices.Contains(got.Groups, groups[0]) ||
		!slices.Contains(got.Groups, groups[1]) {
		t.Errorf("the certificate authenticates %v, want %s in %v", got, user, groups)
	}
}

// TestTheHubSignsNoAdministratorsAndNoServers holds for requests that are approved by mistake.
func TestTheHubSignsNoAdministratorsAndNoServers(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(shared.Config())
	request, _ := newRequest(t, "intruder", "system:masters")
	if _, err := client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), request,
		metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a request for system:masters: %v, want it forbidden", err)
	}
	serving, _ := newRequest(t, "system:node:n1", "system:nodes")
	serving.Spec.SignerName = certificatesv1.KubeletServingSignerName
	serving.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	name := approve(t.Context(), t, client, serving)
	agent, _ := newRequest(t, registration.AgentUser("c2", "a1"), registration.AgentGroup("c2"))
	later := approve(t.Context(), t, client, agent)
	kit.Await(t, "a later certificate is issued", func(ctx context.Context) error {
		found, err := client.CertificatesV1().CertificateSigningRequests().Get(ctx, later, metav1.GetOptions{})
		if err == nil && len(found.Status.Certificate) == 0 {
			err = errors.New("no certificate is issued")
		}
		return err
	})
	found, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || len(found.Status.Certificate) != 0 {
		t.Errorf("a request for a serving certificate, after a later one was signed: %d bytes, %v; want it unsigned",
			len(found.Status.Certificate), err)
	}
}

// TestTheHubIsKnownByItsAdvertisedNames compares the certificate and the published URL with the flags.
func TestTheHubIsKnownByItsAdvertisedNames(t *testing.T) {
	dir := t.TempDir()
	hub := hubtest.New(t, hubtest.Options{DataDir: dir, Args: []string{
		"--advertise-url", "https://hub.example:6443", "--san",
		"hub-a.example,192.0.2.7",
	}})
	address := kit.Must(url.Parse(hub.Config().Host)).In(t)
	connection := kit.Must(tls.Dial("tcp", address.Host, &tls.Config{InsecureSkipVerify: true})).In(t)
	defer connection.Close()
	serving := connection.ConnectionState().PeerCertificates[0]
	for _, host := range []string{"127.0.0.1", "hub.example", "hub-a.example", "192.0.2.7"} {
		if err := serving.VerifyHostname(host); err != nil {
			t.Errorf("the serving certificate: %v", err)
		}
	}
	reader := kubernetes.NewForConfigOrDie(hub.ConfigFor(t, "reader"))
	var published *corev1.ConfigMap
	kit.Await(t, "the cluster information is published", func(ctx context.Context) (err error) { // the role is taken up a moment late
		published, err = reader.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, "cluster-info", metav1.GetOptions{})
		return err
	})
	info := kit.Must(clientcmd.Load([]byte(published.Data["kubeconfig"]))).In(t)
	if got := info.Clusters[""].Server; got != "https://hub.example:6443" {
		t.Errorf("the published URL is %s, want that of --advertise-url", got)
	}
	authority := kit.Must(os.ReadFile(filepath.Join(dir, "pki", "users-ca.crt"))).In(t)
	if string(info.Clusters[""].CertificateAuthorityData) != string(authority) {
		t.Error("the published authority is not that of the hub")
	}
}
