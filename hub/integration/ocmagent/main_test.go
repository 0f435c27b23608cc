// Package ocmagent sends the requests of the agents of Open Cluster Management 1.3, in their order, to a hub with its manager:
// from the shared bootstrap identity to the lease, the status and the renewal of the certificate. The requests are raw, since the
// form matters: field selectors, label selectors, and merge patches with a resourceVersion.
package ocmagent

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

const (
	// testTimeout is far longer than any wait of the tests on an idle machine.
	testTimeout = 120 * time.Second

	bootstrapNamespace = "open-cluster-management"
	bootstrapAccount   = "agent-registration-bootstrap"
	clusterNameLabel   = "open-cluster-management.io/cluster-name"
)

// The resources that the agents use with a dynamic client.
var (
	clusters = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	addOns   = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1beta1", Resource: "managedclusteraddons"}
)

// client is one identity on the hub.
type client struct {
	kubernetes.Interface

	dynamic dynamic.Interface
}

func newClient(t *testing.T, config *rest.Config) client {
	t.Helper()
	typed := kit.Must(kubernetes.NewForConfig(config)).In(t)
	untyped := kit.Must(dynamic.NewForConfig(config)).In(t)
	return client{typed, untyped}
}

// bootstrap returns the shared identity, with a token of its service account.
func bootstrap(t *testing.T, hub *hubtest.Hub) client {
	t.Helper()
	token := kit.Must(hub.Client(t).CoreV1().ServiceAccounts(bootstrapNamespace).CreateToken(
		t.Context(), bootstrapAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})).In(t)
	config := rest.AnonymousClientConfig(hub.Config())
	config.BearerToken = token.Status.Token
	return newClient(t, config)
}

// expectAllowed reviews a permission of the client itself for each verb, until it is allowed: the hub writes one role after the other.
func (c client) expectAllowed(t *testing.T, attributes authorizationv1.ResourceAttributes, verbs ...string) {
	t.Helper()
	for _, verb := range verbs {
		attributes.Verb = verb
		kit.Await(t, "the roles of the agent are in effect", func(ctx context.Context) error {
			review := &authorizationv1.SelfSubjectAccessReview{}
			review.Spec.ResourceAttributes = &attributes
			got, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil && !got.Status.Allowed {
				err = fmt.Errorf("%s %s/%s %s is refused: %s", verb, attributes.Resource, attributes.Subresource, attributes.Name, got.Status.Reason)
			}
			return err
		})
	}
}

// request creates a certificate request as the agents do, and returns its name and its key in PEM.
func (c client) request(t *testing.T, cluster string) (name string, key []byte) {
	t.Helper()
	group := "system:open-cluster-management:" + cluster
	request, private := kit.CertificateRequest(t, group+":x7k2p", group, "system:open-cluster-management:managed-clusters")
	created := kit.Must(c.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: cluster + "-", Labels: map[string]string{clusterNameLabel: cluster}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    request,
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth,
			},
		},
	}, metav1.CreateOptions{})).In(t)
	encoded := kit.Must(x509.MarshalECPrivateKey(private)).In(t)
	return created.Name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// awaitCertificate watches the requests of a cluster by their label until one is signed.
func (c client) awaitCertificate(t *testing.T, cluster, name string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	requests := c.CertificatesV1().CertificateSigningRequests()
	list := kit.Must(requests.List(ctx, metav1.ListOptions{LabelSelector: clusterNameLabel + "=" + cluster})).In(t)
	for i := range list.Items {
		if list.Items[i].Name == name && len(list.Items[i].Status.Certificate) > 0 {
			return list.Items[i].Status.Certificate
		}
	}
	stream, err := requests.Watch(ctx, metav1.ListOptions{
		LabelSelector:   clusterNameLabel + "=" + cluster,
		ResourceVersion: list.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	last, err := watchtools.UntilWithoutRetry(ctx, stream, func(e watch.Event) (bool, error) {
		request, ok := e.Object.(*certificatesv1.CertificateSigningRequest)
		return ok && request.Name == name && len(request.Status.Certificate) > 0, nil
	})
	if err != nil {
		t.Fatalf("the request %s is not signed: %v", name, err)
	}
	return last.Object.(*certificatesv1.CertificateSigningRequest).Status.Certificate
}

// patchStatus sends a status as the agents do: a merge patch with the UID and the resourceVersion that it was computed from.
func patchStatus(uid, resourceVersion string, status map[string]any) []byte {
	out, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "resourceVersion": resourceVersion}, "status": status})
	if err != nil {
		panic(fmt.Sprintf("encoding a patch: %v", err)) // strings and maps only
	}
	return out
}
