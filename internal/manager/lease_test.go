package manager

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

func TestLeaseHolder(t *testing.T) {
	holder := func(identity string) string {
		options := DefaultOptions()
		options.Identity = identity
		lock, err := newLeaseLock(&rest.Config{Host: "https://hub.example"}, options)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lock.Describe(), "berth-system/berth-manager"; got != want {
			t.Errorf("the lease is %s, want %s", got, want)
		}
		return lock.Identity()
	}
	if got := holder("me"); got != "me" {
		t.Errorf("holder %q, want the given holder", got)
	}
	if one, other := holder(""), holder(""); one == other || one == "" {
		t.Errorf("holders %q and %q, want different holders", one, other)
	}
}

// TestLeaseRequestsAreIndependent checks that requests for the lease share neither the rate limit nor the connections of the
// controllers.
func TestLeaseRequestsAreIndependent(t *testing.T) {
	connections := map[string]string{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.URL.Path] = r.RemoteAddr
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"}}`)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	others, err := coordinationclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := others.Leases("others").Get(t.Context(), "x", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	config.QPS, config.RateLimiter = 1, flowcontrol.NewFakeNeverRateLimiter()
	lock, err := newLeaseLock(config, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := lock.Get(t.Context()); err != nil {
		t.Errorf("reading the lease: %v, want no wait for the rate limit of other requests", err)
	}
	const api = "/apis/coordination.k8s.io/v1/namespaces/"
	if own, theirs := connections[api+"berth-system/leases/berth-manager"], connections[api+"others/leases/x"]; own == "" || own == theirs {
		t.Errorf("the lease is read by the connection %q, and other objects by %q", own, theirs)
	}
}
