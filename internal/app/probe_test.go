package app

import (
	"errors"
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
		{"/readyz?verbose", true, 500, "[!]warning: the ClusterRole x is not guarded\n[+]ping ok\n[-]views failed: reason withheld\nhealthz check failed\n"},
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
