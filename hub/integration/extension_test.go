package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// authorityOf returns the certificate that a test server serves with, as PEM.
func authorityOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestWebhooksAreCalledByURL(t *testing.T) {
	client, namespace := shared.Client(t), shared.Namespace(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "not in my harbour"}}
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer server.Close()
	url, sideEffects, fail := server.URL, admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "test-webhook"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "test.berth.dev",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authorityOf(server)},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:             &sideEffects,
			FailurePolicy:           &fail,
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	kit.Must(webhooks.Create(t.Context(), configuration, metav1.CreateOptions{})).In(t)
	t.Cleanup(func() {
		_ = webhooks.Delete(context.WithoutCancel(t.Context()), "test-webhook", metav1.DeleteOptions{})
	})
	kit.Await(t, "the webhook denies the Secret", func(ctx context.Context) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}}
		_, err := client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "not in my harbour") {
			return errNotDenied
		}
		return nil
	})
}

// TestAggregatedAPIsAreReached serves an aggregated API behind a Service of type ExternalName for localhost. It checks that the
// hub authenticates to it and sends the name of the user.
func TestAggregatedAPIsAreReached(t *testing.T) {
	client := shared.Client(t)
	proxies := x509.NewCertPool()
	trust := kit.Must(client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication",
		metav1.GetOptions{})).In(t)
	if !proxies.AppendCertsFromPEM([]byte(trust.Data["requestheader-client-ca-file"])) {
		t.Fatal("the hub publishes no authority for aggregated APIs")
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "views.test.berth.dev/v1", "resources": []any{},
			"user": r.Header.Get("X-Remote-User"),
		})
	}))
	server.TLS = &tls.Config{ClientCAs: proxies, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	register(t, port)
	kit.Await(t, "the API server forwards requests", func(ctx context.Context) error {
		body, err := client.Discovery().RESTClient().Get().AbsPath("/apis/views.test.berth.dev/v1").DoRaw(ctx)
		if err != nil {
			return err
		}
		if !strings.Contains(string(body), `"user":"berth-admin"`) {
			t.Errorf("the API was called with %s, want the name of the administrator", body)
		}
		return nil
	})
}

// register creates the Service and the APIService for a port of this machine.
func register(t *testing.T, port string) {
	t.Helper()
	number := kit.Must(strconv.ParseInt(port, 10, 32)).In(t)
	namespace := shared.Namespace(t)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "views"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	kit.Must(shared.Client(t).CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{})).In(t)
	objects := kit.Must(dynamic.NewForConfig(shared.Config())).In(t)
	registrations := objects.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	registration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1.views.test.berth.dev"},
		"spec": map[string]any{
			"group": "views.test.berth.dev", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": namespace, "name": "views", "port": number},
		},
	}}
	kit.Must(registrations.Create(t.Context(), registration, metav1.CreateOptions{})).In(t)
	t.Cleanup(func() {
		_ = registrations.Delete(context.WithoutCancel(t.Context()), registration.GetName(), metav1.DeleteOptions{})
	})
}
