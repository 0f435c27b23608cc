package explain

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/config/apiserver"
	"github.com/berth-project/berth/hub/hubtest"
)

// manager is a running manager that serves the views, and reaches the API server through a proxy.
type manager struct {
	*hubtest.Manager

	// views is where the views are served.
	views string
	// mute lets the API server refuse every write to decisions and placements.
	mute   atomic.Bool
	server *httptest.Server
}

var steady *manager

// running returns the manager that tests share.
func running(t *testing.T) *manager {
	t.Helper()
	if steady == nil {
		known(t)
		steady = launch(t)
	}
	t.Cleanup(func() { steady.Inspect(t) })
	return steady
}

func shutdown() {
	if steady != nil {
		steady.Stop()
		steady.server.CloseClientConnections()
		steady.server.Close()
	}
}

func launch(t *testing.T) *manager {
	t.Helper()
	m := &manager{views: hubtest.FreeAddress(t)}
	direct := shared.ManagerConfig(t)
	transport, err := rest.TransportFor(direct)
	if err != nil {
		t.Fatal(err)
	}
	hub, err := url.Parse(direct.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(hub)
			r.Out.Header.Del("Authorization")
		},
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	m.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.mute.Load() && r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/apis/cluster.open-cluster-management.io/") {
			http.Error(w, "no writes", http.StatusInternalServerError)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	m.server.EnableHTTP2 = true
	m.server.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate().Raw})
	_, port, err := net.SplitHostPort(m.views)
	if err != nil {
		t.Fatal(err)
	}
	m.Manager = hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Shared: true, MayFail: true, // one test refuses what it writes
		Kubeconfig: shared.KubeconfigOf(t, &rest.Config{Host: m.server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}),
		Args: []string{
			"--controllers=placement,views", "--view-bind-address=" + m.views, "--view-service-port=" + port,
		},
	})
	return m
}

// known lets everybody ask for the views, as an installation does, and leads the API server to them.
func known(t *testing.T) {
	t.Helper()
	admin := hubtest.NewClient(t, shared.Config())
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "berth-system"}},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "berth-system", Name: "berth-views"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		},
	}
	for document := range strings.SplitSeq(apiserver.Access(), "\n---\n") {
		var object client.Object = &rbacv1.ClusterRole{}
		switch {
		case strings.Contains(document, "kind: ClusterRoleBinding\n"):
			object = &rbacv1.ClusterRoleBinding{}
		case strings.Contains(document, "kind: RoleBinding\n"):
			object = &rbacv1.RoleBinding{}
		}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	for _, object := range objects {
		if err := admin.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}
