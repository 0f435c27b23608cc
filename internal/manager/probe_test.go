package manager

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// TestWarningsLeaveTheManagerReady: /readyz?verbose shows warnings, and a warning fails no probe.
func TestWarningsLeaveTheManagerReady(t *testing.T) {
	failing := false
	p := newProbes(nil)
	if err := p.AddReadyzCheck("views", func(*http.Request) error {
		if failing {
			return errors.New("boom")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.AddHealthzCheck("other", healthz.Ping); err != nil {
		t.Fatal(err)
	}
	handler := p.handler(func() []string { return []string{"the ClusterRole x is not guarded"} })
	for _, test := range []struct {
		path    string
		failing bool
		code    int
		want    string
	}{
		{"/readyz", false, 200, "ok"},
		{"/readyz?verbose", false, 200, "[!]warning: the ClusterRole x is not guarded\n[+]ping ok\n[+]views ok\nhealthz check passed\n"},
		{"/readyz?verbose", true, 500, "[!]warning: the ClusterRole x is not guarded\n[+]ping ok\n[-]views failed: reason " +
			"withheld\nhealthz check failed\n"},
		{"/readyz", true, 500, "[+]ping ok\n[-]views failed: reason withheld\nhealthz check failed\n"},
		{"/readyz/ping", true, 200, "ok"},
		{"/healthz", true, 200, "ok"},
		{"/healthz?verbose", true, 200, "[+]other ok\n[+]ping ok\nhealthz check passed\n"},
	} {
		failing = test.failing
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil))
		if diff := cmp.Diff(test.want, answer.Body.String()); answer.Code != test.code || diff != "" {
			t.Errorf("%s, failing %t: %d, want %d (-want +got):\n%s", test.path, failing, answer.Code, test.code, diff)
		}
	}
}

func TestAManagerThatStopsIsNotReady(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	check := running(ctx)
	if err := check(nil); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	stop()
	if err := check(nil); !errors.Is(err, errStopping) {
		t.Errorf("when it stops: %v", err)
	}
}

// TestReadinessNeedsAWebhookThatAnswers: an open port is not enough.
func TestReadinessNeedsAWebhookThatAnswers(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	check := answers(server.Listener.Addr().String())
	probe := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
	if err := check(probe); err != nil {
		t.Errorf("a server that answers: %v", err)
	}
	server.Close()
	if err := check(probe); err == nil {
		t.Error("a server that is closed is ready")
	}
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := answers(silent.Addr().String())(probe); err == nil {
		t.Error("a port on which no server answers is ready")
	}
}
