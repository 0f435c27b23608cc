package target

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// member is a server with the outcomes of the requests to it.
type member struct {
	*httptest.Server
	hits, outcomes []string
}

func newMember(t *testing.T, handle http.HandlerFunc) *member {
	t.Helper()
	out := &member{}
	out.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out.hits = append(out.hits, r.Method+" "+r.URL.Path)
		handle(w, r)
	}))
	t.Cleanup(out.Close)
	return out
}

// client returns a client that reaches a server as a probe does.
func (m *member) client(t *testing.T, server string, allowed Allowed) *http.Client {
	t.Helper()
	_, out := m.connect(t, Target{Server: server, Token: "abc"}, allowed)
	return out
}

func (m *member) connect(t *testing.T, to Target, allowed Allowed) (*Connection, *http.Client) {
	t.Helper()
	to.ServerName, to.CA = "example.com", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw})
	connection, err := to.Connect(allowed, func(path string, code int, err error) {
		switch {
		case errors.Is(err, ErrAddress):
			path += " not allowed"
		case errors.Is(err, ErrRedirect):
			path += " redirects"
		case errors.Is(err, ErrTooLarge):
			path += " too large"
		case err != nil:
			path += " failed"
		default:
			path += " " + http.StatusText(code)
		}
		m.outcomes = append(m.outcomes, path)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	out, err := rest.HTTPClientFor(connection.Config)
	if err != nil {
		t.Fatal(err)
	}
	return connection, out
}

func send(t *testing.T, client *http.Client, method, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestAProbeReadsAnAllowedServer(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // is not used
	m := newMember(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) })
	body, err := send(t, m.client(t, m.URL, allow(t, "127.0.0.1")), http.MethodGet, m.URL+"/livez")
	if err != nil || body != "Bearer abc" || strings.Join(m.outcomes, ",") != "/livez OK" {
		t.Errorf("body %q, outcomes %v, error %v", body, m.outcomes, err)
	}
}

// TestTheAddressOfAConnectionIsChecked: a name is resolved after its check, and may lead to another address then.
func TestTheAddressOfAConnectionIsChecked(t *testing.T) {
	for sentence, allowed := range map[string][]string{
		"a name that resolves to loopback":    {"*.localhost", "localhost"},
		"a network without loopback":          {"0.0.0.0/0", "::/0"},
		"a list without the name and network": {"edge.example"},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := newMember(t, func(http.ResponseWriter, *http.Request) {})
			url := strings.Replace(m.URL, "127.0.0.1", "localhost", 1)
			if _, err := send(t, m.client(t, url, allow(t, allowed...)), http.MethodGet, url); !errors.Is(err, ErrAddress) || len(m.hits) > 0 {
				t.Errorf("error %v, requests %v", err, m.hits)
			}
		})
	}
}

func TestAProbeFollowsNoRedirect(t *testing.T) {
	elsewhere := newMember(t, func(http.ResponseWriter, *http.Request) {})
	for _, code := range []int{301, 302, 303, 304, 307, 308} {
		m := newMember(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(code)
		})
		if _, err := send(t, m.client(t, m.URL, allow(t, "127.0.0.1")), http.MethodGet, m.URL); !errors.Is(err, ErrRedirect) {
			t.Errorf("%d: error %v", code, err)
		}
	}
	if len(elsewhere.hits) > 0 {
		t.Errorf("the redirects led to %v", elsewhere.hits)
	}
}

func TestAProbeVerifiesTheServer(t *testing.T) {
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	other, _ := pair(t)
	connection, err := Target{Server: m.URL, CA: other, Token: "abc"}.Connect(allow(t, "127.0.0.1"), func(string, int, error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client, err := rest.HTTPClientFor(connection.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, client, http.MethodGet, m.URL); err == nil || len(m.hits) > 0 {
		t.Errorf("error %v, requests %v", err, m.hits)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	chunk := make([]byte, 1<<20)
	size := 0
	m := newMember(t, func(w http.ResponseWriter, _ *http.Request) {
		for range size {
			_, _ = w.Write(chunk)
		}
	})
	client := m.client(t, m.URL, allow(t, "127.0.0.1"))
	get := func(megabytes int, query string) error {
		size = megabytes
		_, err := send(t, client, http.MethodGet, m.URL+"/api/v1/nodes"+query)
		return err
	}
	limit := maxResponseBytes >> 20
	if err := get(limit, ""); err != nil {
		t.Errorf("a response at the limit: %v", err)
	}
	if err := get(limit+1, ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a response above the limit: %v", err)
	}
	// A member ends each watch below the limit, and so never makes the probe list again.
	for range maxWatchBytes / maxResponseBytes {
		if err := get(limit, "?watch=true"); err != nil {
			t.Errorf("a watch at the limit: %v", err)
		}
	}
	if err := get(1, "?watch=true"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a watch above the limit of all: %v", err)
	}
	for _, list := range []string{"", "?watch=true&sendInitialEvents=true"} {
		if err := errors.Join(get(1, list), get(limit, "?watch=true")); err != nil {
			t.Errorf("a watch after a list %q: %v", list, err)
		}
	}
}

// TestAHeaderIsBounded: a member sends a header without an end.
func TestAHeaderIsBounded(t *testing.T) {
	m := newMember(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("a", 2*maxHeaderBytes))
	})
	if _, err := send(t, m.client(t, m.URL, allow(t, "127.0.0.1")), http.MethodGet, m.URL); err == nil {
		t.Error("a large header was read")
	}
}
