package client

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

var errBoom = errors.New("boom")

// server is a transport with one response.
type server struct {
	code  int
	err   error
	calls int
}

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	s.calls++
	if s.err != nil {
		return nil, s.err
	}
	return &http.Response{StatusCode: s.code, Body: http.NoBody}, nil
}

func TestGateKeepsRequestsFromAHubThatDoesNotRespond(t *testing.T) {
	for sentence, test := range map[string]struct {
		code   int
		err    error
		closes bool
	}{
		"a connection that fails":        {0, errBoom, true},
		"a request that took too long":   {0, context.DeadlineExceeded, true},
		"a proxy without a hub":          {http.StatusBadGateway, nil, true},
		"a hub that starts":              {http.StatusServiceUnavailable, nil, true},
		"a response":                     {http.StatusOK, nil, false},
		"a refusal":                      {http.StatusForbidden, nil, false},
		"a fault of the hub":             {http.StatusInternalServerError, nil, false},
		"a request that the agent ended": {0, context.Canceled, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock := testingclock.NewFakeClock(time.Unix(0, 0))
			gate, hub := NewGate(clock, func() float64 { return 0.5 }), &server{code: test.code, err: test.err}
			gate.SetSpread(20 * time.Second)
			transport := gate.Wrap(hub)
			send := func() error {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://hub.example/", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				response, err := transport.RoundTrip(request)
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			_ = send()
			if closed := errors.Is(send(), ErrGateClosed); closed != test.closes {
				t.Errorf("closed = %t, want %t", closed, test.closes)
			}
			sent := hub.calls
			clock.Step(10 * time.Second) // the random half of the spread
			if _ = send(); hub.calls != sent+1 {
				t.Error("the request was not sent after the pause")
			}
		})
	}
}

func TestGateSpreadsOverAtMostAMinute(t *testing.T) {
	gate := NewGate(testingclock.NewFakeClock(time.Unix(0, 0)), func() float64 { return 0.5 })
	for period, want := range map[time.Duration]time.Duration{time.Hour: 30 * time.Second, 2 * time.Second: time.Second} {
		if gate.SetSpread(period); gate.Spread() != want {
			t.Errorf("with a lease of %s the delay is %s, want %s", period, gate.Spread(), want)
		}
	}
}

func TestObjectPath(t *testing.T) {
	for want, object := range map[string]Object{
		"/api/v1/nodes": Nodes(),
		"/api/v1/namespaces/c1/configmaps/kube-root-ca.crt":                       ConfigMap("c1", "kube-root-ca.crt"),
		"/apis/cluster.open-cluster-management.io/v1/managedclusters/c1":          ManagedCluster("c1"),
		"/apis/coordination.k8s.io/v1/namespaces/c1/leases/managed-cluster-lease": Lease("c1"),
		"/apis/certificates.k8s.io/v1/certificatesigningrequests":                 CSR(""),
		"/apis/coordination.k8s.io/v1/namespaces/add-ons/leases/search":           AddOnLease("add-ons", "search"),
	} {
		if got := object.path(""); got != want {
			t.Errorf("path = %q, want %q", got, want)
		}
	}
}
